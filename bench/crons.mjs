// Scheduled jobs, a tenth of them due at the same moment: how long /health takes meanwhile, whether each fires once, and
// how fast they are carried out against the core's own turn rate. CRONS sets their number (10,000).
import { rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { call, makeHome, ms, quantile, report, startGateway, watchHealth } from "./lib.mjs";

const JOBS = Number(process.env.CRONS ?? 10_000);
const EACH = 100;
const DUE = JOBS / 10;
const AT_ONCE = 64;
/** From before the start of the gateway until the jobs are due. */
const LEAD_MS = 10_000;
const PATIENCE_MS = 300_000;

const agents = Array.from({ length: Math.ceil(JOBS / EACH) }, (_, n) => ({
  id: `agent-${n}`,
  runtime: { type: "starter" },
}));

/** Writes the jobs into a store that no gateway has open. */
function schedule(home, due) {
  const db = new DatabaseSync(join(home, "gateway.db"));
  const spec = (timing) =>
    JSON.stringify({
      ...timing,
      timezone: "UTC",
      prompt: "hello",
      command: null,
      deliver: [],
      freshSession: true,
      timeoutMs: 600_000,
      deleteAfterRun: false,
      catchUp: true,
    });
  const insert = db.prepare(
    `INSERT INTO crons (id, agent_id, name, type, spec, enabled, created_by, created_at, updated_at, next_at, planned_at,
       consecutive_errors, run_count) VALUES (?, ?, 'bench', 'agent', ?, 1, 'key', ?, ?, ?, ?, 0, 0)`,
  );
  const plan = db.prepare(
    `INSERT INTO jobs (kind, key, owner, state, planned_at, next_at) VALUES ('crons.ticks', ?, ?, 'waiting', ?, ?)`,
  );
  const now = Date.now();
  const once = spec({ scheduleKind: "at", schedule: null, at: due });
  const yearly = spec({ scheduleKind: "cron", schedule: "0 0 1 1 *", at: null });
  const later = Date.UTC(new Date().getUTCFullYear() + 1, 0, 1);
  db.exec("BEGIN");
  for (let n = 0; n < JOBS; n++) {
    const isDue = n % 10 === 0;
    const agent = agents[Math.floor(n / EACH)].id;
    insert.run(`job-${n}`, agent, isDue ? once : yearly, now, now, isDue ? due : later, now);
  }
  for (const { id } of agents) plan.run(id, id, now, due);
  db.exec("COMMIT");
  db.close();
}

/** Turns per second of the core alone, each in a new chat. */
async function coreRate(url, count) {
  let next = 0;
  const began = performance.now();
  const client = async () => {
    while (next < count) {
      const n = next++;
      const path = `/api/v1/agents/agent-${n % agents.length}/messages`;
      const body = { message: "hello", chat_id: `core-${n}` };
      const { status } = await call(url, path, { method: "POST", body });
      if (status !== 200) throw new Error(`a turn was answered with ${status}`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, client));
  return count / ((performance.now() - began) / 1000);
}

const home = makeHome({ agent: agents[0] });
let gateway;
try {
  const { readFileSync, writeFileSync } = await import("node:fs");
  const file = join(home, "config.json");
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), agents }));
  gateway = await startGateway(home);
  const rate = await coreRate(gateway.url, DUE);
  await gateway.stop();
  const due = Date.now() + LEAD_MS;
  schedule(home, due);
  gateway = await startGateway(home);
  await sleep(due - Date.now() - 500);
  const stopWatching = watchHealth(gateway.url);
  const db = new DatabaseSync(join(home, "gateway.db"), { readOnly: true });
  const count = (where) => db.prepare(`SELECT count(*) AS n FROM cron_runs WHERE ${where}`).get().n;
  const end = Date.now() + PATIENCE_MS;
  while (count("state = 'ok'") < DUE && Date.now() < end) await sleep(50);
  const took = (Date.now() - due) / 1000;
  const health = await stopWatching();
  const jobs = db.prepare("SELECT count(DISTINCT job) AS n FROM cron_runs WHERE state = 'ok'").get().n;
  const all = count("1 = 1");
  db.close();
  const p99 = quantile(health, 0.99);
  report(`/health while ${DUE} of ${JOBS} jobs are due`, `p99 ${ms(p99)}`, "<= 50 ms", p99 <= 50);
  report(
    "jobs that were due",
    `${jobs} fired, ${all} runs`,
    `${DUE}, once each`,
    jobs === DUE && all === DUE,
  );
  report(
    "their turns",
    `${(DUE / took).toFixed(0)}/s in ${took.toFixed(1)} s, the core alone ${rate.toFixed(0)}/s`,
    ">= half of the core's rate",
    DUE / took >= rate / 2,
  );
} finally {
  await gateway?.stop();
  rmSync(home, { recursive: true, force: true, maxRetries: 3 });
}
