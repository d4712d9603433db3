// Import of a million messages while others go on.
import { call, ms, quantile, report, watchHealth, withGateway } from "./lib.mjs";
import { importMessages } from "./messages.mjs";

const COUNT = Number(process.env.BENCH_MESSAGES ?? 1_000_000);

await withGateway({}, async ({ url }) => {
  const stop = watchHealth(url);
  let on = true;
  const writes = [];
  const talk = (async () => {
    while (on) {
      const began = performance.now();
      const { status } = await call(url, "/api/v1/agents/assistant/sessions", {
        method: "POST",
        body: { chat_id: "meanwhile", name: "x" },
      });
      if (status !== 201) throw new Error(`a session answered ${status}`);
      writes.push(performance.now() - began);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  })();
  const began = performance.now();
  const { imported } = await importMessages(url, "api-bench", COUNT);
  const seconds = (performance.now() - began) / 1000;
  on = false;
  await talk;
  const health = await stop();
  report(
    `import of ${imported} messages`,
    `${seconds.toFixed(1)} s`,
    "<= 120 s",
    imported === COUNT && seconds <= 120,
  );
  report("/health meanwhile, p99", ms(quantile(health, 0.99)), "<= 50 ms", quantile(health, 0.99) <= 50);
  report(
    "a durable write meanwhile, p50 and p99",
    `${ms(quantile(writes, 0.5))}, ${ms(quantile(writes, 0.99))}`,
    "p50 <= 50 ms",
    quantile(writes, 0.5) <= 50,
  );
});
