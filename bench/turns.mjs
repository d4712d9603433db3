// Turns over HTTP with both messages durable, against the same agents driven over bare pipes.
import { barePipe, call, ms, quantile, rawClient, report, watchHealth, withGateway } from "./lib.mjs";

const TURNS = 2000;
const SESSIONS = 100;
const SECONDS = 8;
const PATH = "/api/v1/agents/assistant/messages";

const say = async (url, chat, session, text = "hello there") => {
  const { status, text: reply } = await call(url, PATH, {
    method: "POST",
    body: { message: text, chat_id: chat, ...(session && { session_id: session }) },
  });
  if (status !== 200) throw new Error(`${status}: ${reply}`);
  return JSON.parse(reply);
};

const timed = async (count, once) => {
  const times = [];
  for (let turn = 0; turn < count; turn++) {
    const began = performance.now();
    await once();
    times.push(performance.now() - began);
  }
  return times.slice(Math.floor(count / 10));
};

await withGateway({}, async ({ url }) => {
  const bare = barePipe();
  await bare.turn("hello there");
  const { session_id: session } = await say(url, "one");
  const client = await rawClient(url, PATH);
  const body = { message: "hello there", chat_id: "one", session_id: session };
  // In alternating blocks, so that both see the same noise of a shared machine.
  const [plain, ours] = [[], []];
  for (let block = 0; block < 10; block++) {
    plain.push(...(await timed(TURNS / 10, () => bare.turn("hello there"))));
    ours.push(...(await timed(TURNS / 10, () => client.post(body))));
  }
  client.close();
  await bare.close();
  const above = quantile(ours, 0.5) - quantile(plain, 0.5);
  report(
    "warm sync turn, p50",
    `${ms(quantile(ours, 0.5))}, pipe ${ms(quantile(plain, 0.5))}, ${ms(above)} above`,
    "<= 1 ms above the pipe",
    above <= 1,
  );
  report(
    "warm sync turn, p99",
    `${ms(quantile(ours, 0.99))}, pipe ${ms(quantile(plain, 0.99))}`,
    "<= 10 ms",
    quantile(ours, 0.99) <= 10,
  );
});

const rate = async (drivers) => {
  let turns = 0;
  const until = performance.now() + SECONDS * 1000;
  const began = performance.now();
  await Promise.all(
    drivers.map(async (drive) => {
      while (performance.now() < until) {
        await drive();
        turns++;
      }
    }),
  );
  return turns / ((performance.now() - began) / 1000);
};

const pipes = Array.from({ length: SESSIONS }, barePipe);
await Promise.all(pipes.map((pipe) => pipe.turn("hello there")));
const plain = await rate(pipes.map((pipe) => () => pipe.turn("hello there")));
await Promise.all(pipes.map((pipe) => pipe.close()));
await withGateway({}, async ({ url }) => {
  const sessions = await Promise.all(Array.from({ length: SESSIONS }, (_, index) => say(url, `c${index}`)));
  const clients = await Promise.all(sessions.map(() => rawClient(url, PATH)));
  const stop = watchHealth(url);
  const ours = await rate(
    clients.map((client, index) => async () => {
      const body = { message: "hello there", chat_id: `c${index}`, session_id: sessions[index].session_id };
      const { status, text } = await client.post(body);
      if (status !== 200) throw new Error(`${status}: ${text}`);
    }),
  );
  const health = await stop();
  for (const client of clients) client.close();
  report(
    "100 warm sessions",
    `${ours.toFixed(0)} turns/s, pipes ${plain.toFixed(0)}, ${((ours / plain) * 100).toFixed(0)} %`,
    ">= 50 %",
    ours >= plain / 2,
  );
  report("/health meanwhile, p99", ms(quantile(health, 0.99)), "<= 50 ms", quantile(health, 0.99) <= 50);
});
