import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Gateway, KEYS, startGateway, until } from "./harness.ts";

type Json = Record<string, unknown>;
interface Job extends Json {
  id: string;
  state: { runCount: number; nextRunAt: number | null; lastStatus: string | null; lastError: string | null };
}
interface Run extends Json {
  id: string;
  status: string;
  output: string | null;
}

const CRONS = "/api/v1/crons";
const YEARLY = { schedule: "0 0 1 1 *" };
let gateway: Gateway;

const create = async (body: Json, key: string = KEYS.admin) =>
  gateway.json("POST", CRONS, { key, body: { agentId: "assistant", name: "job", ...YEARLY, ...body } });
const made = async (body: Json): Promise<Job> => {
  const { status, body: reply } = await create(body);
  expect({ status, reply }).toMatchObject({ status: 201 });
  return reply.job as Job;
};
const get = async (id: string) => (await gateway.json("GET", `${CRONS}/${id}`)).body.job as Job;
const runs = async (id: string) => (await gateway.json("GET", `${CRONS}/${id}/runs`)).body.runs as Run[];
const run = async (id: string) => gateway.json("POST", `${CRONS}/${id}/run`);
const soon = (ms = 300) => ({ schedule: undefined, scheduleAt: new Date(Date.now() + ms).toISOString() });

beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway[Symbol.asyncDispose]());

describe("a scheduled job", () => {
  it("is shown with every field, and its schedule tells its kind [CRON-1]", async () => {
    const job = await made({ prompt: "hello", timezone: "Europe/Berlin" });
    expect(job).toMatchObject({
      agentId: "assistant",
      name: "job",
      scheduleKind: "cron",
      schedule: "0 0 1 1 *",
      scheduleAt: null,
      timezone: "Europe/Berlin",
      type: "agent",
      prompt: "hello",
      command: null,
      deliver: [],
      freshSession: true,
      timeoutMs: 120_000,
      deleteAfterRun: false,
      catchUp: true,
      enabled: true,
      createdBy: "key",
      state: { lastRunAt: null, lastStatus: null, lastError: null, consecutiveErrors: 0, runCount: 0 },
    });
    const next = new Date(job.state.nextRunAt!).toLocaleString("sv", { timeZone: "Europe/Berlin" });
    expect(next).toMatch(/^\d{4}-01-01 00:00:00$/);
    expect(await get(job.id)).toEqual(job);
    expect(await made({ prompt: "x", schedule: "30m" })).toMatchObject({ scheduleKind: "every" });
    const at = await made({
      prompt: "x",
      schedule: undefined,
      scheduleAt: "2090-06-01T10:00",
      timezone: "Asia/Bangkok",
    });
    expect(at).toMatchObject({ scheduleKind: "at", scheduleAt: "2090-06-01T03:00:00.000Z", schedule: null });
  });

  it("runs its prompt in a chat of its own, escaped, each time in a new session [CRON-2]", async () => {
    const job = await made({ name: 'a "b"', prompt: "CONTENT </cron_job> <x>" });
    const first = await run(job.id);
    expect(first).toMatchObject({
      status: 200,
      body: { run: { status: "ok", trigger: "manual", jobId: job.id } },
    });
    const done = first.body.run as Run;
    expect(done.output).toMatch(
      /<cron_job name=\\"a &quot;b&quot;\\" scheduled=\\"[\d-]+T[\d:]+\+00:00\\">\\nCONTENT &lt;\/cron_job&gt; &lt;x&gt;\\n<\/cron_job>/,
    );
    const second = (await run(job.id)).body.run as Run;
    expect(second.sessionId).not.toBe(done.sessionId);
    const { body } = await gateway.json("GET", `/api/v1/agents/assistant/chats/cron-${job.id}/messages`);
    expect(
      (body.messages as Json[]).filter(({ role }) => role === "user").map(({ content }) => content),
    ).toEqual(["CONTENT </cron_job> <x>", "CONTENT </cron_job> <x>"]);
    expect(await get(job.id)).toMatchObject({ state: { runCount: 2, lastStatus: "ok", lastError: null } });
    expect((await runs(job.id)).map(({ id }) => id)).toEqual([second.id, done.id]);
  });

  it("fires once when its time has come, and a one-time job never again [CRON-3]", async () => {
    const job = await made({ prompt: "SAY on time", ...soon() });
    const [only] = await until(async () => {
      const all = await runs(job.id);
      return all[0]?.status === "ok" ? all : undefined;
    }, "the run");
    expect(only).toMatchObject({
      trigger: "schedule",
      output: "on time",
      runAt: Date.parse(job.scheduleAt as string),
    });
    expect((await get(job.id)).state).toMatchObject({ runCount: 1, nextRunAt: null });
  });
});

describe("a command job", () => {
  it("runs with the agent's environment, and its exit code and output are kept [CRON-8]", async () => {
    const shell = await made({ command: "echo out; echo err >&2; exit 3" });
    expect((await run(shell.id)).body.run).toMatchObject({
      status: "error",
      output: "out\nerr\n",
      error: "It ended with exit code 3.",
    });
    const argv = await made({ command: ["/bin/echo", "a b", "$HOME"] });
    expect((await run(argv.id)).body.run).toMatchObject({ status: "ok", output: "a b $HOME\n" });
  });

  it("is ended with all that it started when its time is over [CRON-8]", async () => {
    const job = await made({ command: "sleep 60 & echo $!; wait", timeoutMs: 300 });
    const { run: done } = (await run(job.id)).body as { run: Run };
    expect(done).toMatchObject({ status: "error", error: "It took longer than 0.3 s and was ended." });
    const pid = Number(done.output);
    await until(() => {
      try {
        process.kill(pid, 0);
        return false;
      } catch {
        return true;
      }
    }, "its child to be gone");
  });
});
