// Search in a chat of a million messages, with the exact total.
import { call, ms, quantile, report, watchHealth, withGateway } from "./lib.mjs";
import { importMessages } from "./messages.mjs";

const COUNT = Number(process.env.BENCH_MESSAGES ?? 1_000_000);
const ROUNDS = 25;
const QUERIES = [
  ["a rare word", "zebrafish", 20],
  ["a Thai word", "กรุงเทพ", 20],
  ["no hit", "nowheretobefound", 20],
  ["two CJK characters", "東京", 60],
  ["one Thai character", "ก", 60],
  ["two Latin letters", "th", 150],
  ["a word in a third of all", "project", 150],
];

await withGateway({}, async ({ url }) => {
  await importMessages(url, "api-bench", COUNT);
  const stop = watchHealth(url);
  for (const [name, q, limit] of QUERIES) {
    const path = `/api/v1/agents/assistant/chats/api-bench/messages/search?q=${encodeURIComponent(q)}`;
    const times = [];
    let total = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const began = performance.now();
      const { text } = await call(url, path);
      times.push(performance.now() - began);
      total = JSON.parse(text).total;
    }
    const p50 = quantile(times, 0.5);
    report(`${name} (${total} hits), p50`, ms(p50), `<= ${limit} ms`, p50 <= limit);
  }
  const health = await stop();
  report("/health meanwhile, p99", ms(quantile(health, 0.99)), "<= 50 ms", quantile(health, 0.99) <= 50);
});
