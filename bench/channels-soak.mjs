// All six channels for SOAK_MINUTES (default 20), each connection broken every 30 s: nothing lost, nothing doubled,
// no second connection, memory flat.
import { startAllProviders } from "../test/fixtures/all-channels.ts";
import { rowsOf } from "../test/fixtures/rows.ts";
import { startGateway, until } from "../test/harness.ts";
import { report, rssMb } from "./lib.mjs";

const MINUTES = Number(process.env.SOAK_MINUTES ?? 20);
const CUT_EVERY_MS = Number(process.env.SOAK_CUT_SECONDS ?? 30) * 1000;
const SAY_EVERY_MS = 1_000;
const CHATS = 2;
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

let gateway;
const providers = await startAllProviders(() => gateway);
gateway = await startGateway({ agent: providers.blocks, session: { idleTimeoutMinutes: 5 } });
await providers.prepare();
const drivers = providers.drivers.filter(({ channel }) => !process.env.SOAK_WITHOUT?.includes(channel));
const said = [];
const saying = new Set();
const begun = Date.now();
const end = begun + MINUTES * 60_000;
const samples = [];
let cuts = 0;
let reconnects = 0;
let slowestReturn = 0;
let nextCut = begun + CUT_EVERY_MS;

const channels = async () => (await gateway.json("GET", "/api/v1/agents/assistant/channels")).body.channels;
/** The supervised ones say themselves when they are back. */
async function allBack() {
  const from = Date.now();
  await until(
    async () => (await channels()).slice(0, 3).every(({ connected }) => connected),
    "every channel to be connected again",
    60_000,
  );
  slowestReturn = Math.max(slowestReturn, Date.now() - from);
}

for (let n = 0; Date.now() < end; n++) {
  for (const driver of drivers) {
    for (let chat = 0; chat < CHATS; chat++) {
      const id = `${driver.channel}:m-${chat}-${n}`;
      said.push(id);
      const one = driver.say(chat, `SAY ${id}`, n % 10 === 0 ? 3 : 1).finally(() => saying.delete(one));
      saying.add(one);
    }
  }
  if (Date.now() >= nextCut) {
    nextCut += CUT_EVERY_MS;
    cuts++;
    for (const driver of drivers) {
      driver.cut();
      driver.fault(["busy", "broken", "drop"][cuts % 3]);
    }
    await pause(500);
    void allBack().then(
      () => reconnects++,
      (error) => console.error(error.message),
    );
  }
  if (n % 30 === 0) samples.push([(Date.now() - begun) / 60_000, await rssMb(gateway.process.pid)]);
  await pause(SAY_EVERY_MS);
}
await Promise.all(saying);
const count = (sql) => rowsOf(gateway, sql)[0].n;
await until(
  () =>
    count("SELECT count(*) AS n FROM channel_inbox WHERE state = 'done'") === said.length &&
    count("SELECT count(*) AS n FROM channel_outbox WHERE state IN ('pending', 'sending')") === 0,
  "every message to be answered",
  120_000,
).catch((error) => {
  console.error(error.message);
  const states = `SELECT channel, 'in' AS way, state, count(*) AS n, NULL AS reason FROM channel_inbox GROUP BY 1, 3
    UNION ALL SELECT channel, 'out', state, count(*), max(reason) FROM channel_outbox GROUP BY 1, 3`;
  console.error(
    rowsOf(gateway, states)
      .map((row) => JSON.stringify(row))
      .join("\n"),
  );
});
const taken = drivers.flatMap((driver) =>
  Array.from({ length: CHATS }, (_, chat) => driver.taken(chat).filter((text) => text.includes("m-"))),
);
const disordered = taken.filter((texts) => {
  const numbers = texts.map((text) => Number(/m-\d+-(\d+)/.exec(text)[1]));
  return numbers.some((value, index) => index > 0 && value < numbers[index - 1]);
}).length;
const texts = taken.flat();
const unknown = count("SELECT count(*) AS n FROM channel_outbox WHERE state = 'unknown'");
const failed = count("SELECT count(*) AS n FROM channel_outbox WHERE state = 'failed'");
const missing = said.filter((id) => !texts.includes(id)).length;
const warm = samples.filter(([minute]) => minute > MINUTES / 6);
const slope = ((warm.at(-1)[1] - warm[0][1]) / (warm.at(-1)[0] - warm[0][0])) * 60;
const twice = texts.length - new Set(texts).size;
const lost = Math.max(0, missing - unknown);
const memory = [samples[0], warm[0], warm.at(-1)].map(([, mb]) => mb.toFixed(0)).join(", ");
console.log(`${said.length} messages in ${MINUTES} minutes, ${cuts} forced disconnects of each channel`);
report("lost", String(lost), "0", lost === 0 && failed === 0);
report("answered twice", String(twice), "0", twice === 0);
report("chats out of order", String(disordered), "0", disordered === 0);
report("uncertain sends, not repeated", String(unknown), "any", true);
report(
  "reconnected",
  `${reconnects} times of ${cuts}, at most ${slowestReturn} ms`,
  "every time",
  reconnects >= cuts - 1,
);
const open = [providers.guild.sockets.size, providers.phone.open()];
report(
  "open sockets at the end",
  open.join(" and "),
  "1 and 1",
  open.every((n) => n === 1),
);
report("memory at first, warm, at the end", `${memory} MB, ${slope.toFixed(1)} MB/hour`, "flat", slope < 30);
await gateway[Symbol.asyncDispose]();
await providers[Symbol.asyncDispose]();
process.exit(0);
