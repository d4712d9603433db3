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

  it("goes on with its last session where it is to [CRON-2]", async () => {
    const job = await made({ prompt: "SAY first words", freshSession: false });
    const first = (await run(job.id)).body.run as Run;
    await gateway.json("PUT", `${CRONS}/${job.id}`, { body: { prompt: "HISTORY" } });
    const second = (await run(job.id)).body.run as Run;
    expect(second).toMatchObject({ sessionId: first.sessionId, status: "ok" });
    expect(second.output).toContain("first words");
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

describe("commands that are turned off", () => {
  it("are not taken, and those that are there run as an error [CRON-14]", async () => {
    const job = await made({ command: "echo out" });
    const config = (await gateway.config()) as { gateway: Json };
    const before = structuredClone(config);
    config.gateway.crons = { commands: false };
    await gateway.writeConfig(config);
    const refused = await until(async () => {
      const reply = await create({ command: "echo out" });
      return reply.status === 201 ? undefined : reply;
    }, "the change to be read");
    expect(refused).toMatchObject({ status: 403, body: { code: "FORBIDDEN" } });
    expect(refused.body.error).toContain("gateway.crons.commands");
    expect((await run(job.id)).body.run).toMatchObject({
      status: "error",
      output: null,
      error: "Scheduled commands are turned off (gateway.crons.commands).",
    });
    const prompted = await made({ prompt: "SAY still" });
    expect((await run(prompted.id)).body.run).toMatchObject({ status: "ok", output: "still" });
    const change = await gateway.json("PUT", `${CRONS}/${prompted.id}`, { body: { command: "echo out" } });
    expect(change).toMatchObject({ status: 403, body: { code: "FORBIDDEN" } });
    await gateway.writeConfig(before);
    await until(async () => (await create({ command: "echo out" })).status === 201, "the change to be read");
    expect((await run(job.id)).body.run).toMatchObject({ status: "ok", output: "out\n" });
  });
});

describe("who may do what", () => {
  it("is decided by the job's agent, the key's level and the kind of job, in this order [CRON-14]", async () => {
    const job = await made({ prompt: "x" });
    const command = await made({ command: "true" });
    const second = await made({ agentId: "second", prompt: "x" });
    const call = async (method: string, path: string, key: string, body?: Json) => {
      const reply = await gateway.json(method, `${CRONS}${path}`, { key, ...(body && { body }) });
      return [reply.status, reply.body.code];
    };
    const { plain, write, admin, all } = KEYS;
    expect(await call("GET", "/nothing", plain)).toEqual([404, "NOT_FOUND"]);
    expect(await call("PUT", "/nothing", write, { bad: 1 })).toEqual([404, "NOT_FOUND"]);
    expect(await call("GET", `/${second.id}`, plain)).toEqual([403, "FORBIDDEN"]);
    expect(await call("GET", `/${second.id}/runs?limit=x`, plain)).toEqual([403, "FORBIDDEN"]);
    expect(await call("GET", `/${job.id}/runs?limit=x`, plain)).toEqual([400, "INVALID_REQUEST"]);
    expect(await call("PUT", `/${job.id}`, plain, { name: "y" })).toEqual([403, "FORBIDDEN"]);
    expect(await call("PUT", `/${command.id}`, write, { name: "y" })).toEqual([403, "FORBIDDEN"]);
    expect(await call("DELETE", `/${command.id}`, write)).toEqual([403, "FORBIDDEN"]);
    expect(await call("POST", `/${command.id}/run`, write)).toEqual([403, "FORBIDDEN"]);
    expect(await call("PUT", `/${job.id}`, write, { command: "true" })).toEqual([403, "FORBIDDEN"]);
    for (const bad of [
      { agentId: "second" },
      { unknown: 1 },
      { schedule: "61 * * * *" },
      { timezone: "Mars/Base" },
      { scheduleAt: "2020-01-01T00:00Z" },
      { timeoutMs: 3_600_001 },
      { botchat: "1" },
      { prompt: "x", command: "y" },
    ])
      expect([bad, await call("PUT", `/${job.id}`, admin, bad)]).toEqual([bad, [400, "INVALID_REQUEST"]]);
    const input = { agentId: "assistant", name: "n", prompt: "x", ...YEARLY };
    expect(await call("POST", "", write, { ...input, agentId: "nobody" })).toEqual([404, "AGENT_NOT_FOUND"]);
    expect(await call("POST", "", write, { ...input, agentId: "second" })).toEqual([403, "FORBIDDEN"]);
    expect(await call("POST", "", write, { ...input, prompt: undefined, command: "true" })).toEqual([
      403,
      "FORBIDDEN",
    ]);
    expect(await call("POST", "", write, { ...input, prompt: undefined })).toEqual([400, "INVALID_REQUEST"]);
    expect(await call("POST", "", write, input)).toEqual([201, undefined]);
    expect(await call("GET", "?agent=nobody", all)).toEqual([404, "AGENT_NOT_FOUND"]);
    expect(await call("GET", "?agent=second", plain)).toEqual([403, "FORBIDDEN"]);
    const { body } = await gateway.json("GET", CRONS, { key: KEYS.other });
    expect((body.jobs as Job[]).map(({ id }) => id)).toEqual([second.id]);
    const { body: status } = await gateway.json("GET", `${CRONS}/status`, { key: KEYS.other });
    expect(status).toEqual({ total: 1, enabled: 1, running: 0, nextRunAt: second.state.nextRunAt });
  });

  it("a job that runs takes no second run, and is stopped when it is deleted [CRON-14, CRON-7]", async () => {
    const job = await made({ prompt: "HANG" });
    const begun = await gateway.json("POST", `${CRONS}/${job.id}/run?wait=false`);
    expect(begun).toMatchObject({ status: 202, body: { run: { status: "running", trigger: "manual" } } });
    expect(await run(job.id)).toMatchObject({ status: 409, body: { code: "CONFLICT" } });
    expect(await gateway.json("DELETE", `${CRONS}/${job.id}`)).toMatchObject({
      status: 200,
      body: { ok: true },
    });
    expect(await gateway.json("GET", `${CRONS}/${job.id}/runs`)).toMatchObject({ status: 404 });
    const { body } = await gateway.json("GET", "/status");
    const busy = (body.agents as Array<{ sessions: Json[] }>).flatMap(({ sessions }) => sessions);
    expect(busy.filter(({ chatId }) => chatId === `cron-${job.id}`)).toEqual([]);
  });
});

describe("a change", () => {
  it("touches what it names; by prompt or command a job changes its kind [CRON-1]", async () => {
    const job = await made({ prompt: "x", timezone: "Asia/Bangkok" });
    const put = async (body: Json) =>
      (await gateway.json("PUT", `${CRONS}/${job.id}`, { body })).body.job as Job;
    const off = await put({ enabled: false });
    expect(off).toMatchObject({
      ...job,
      enabled: false,
      updatedAt: off.updatedAt,
      state: { nextRunAt: null },
    });
    expect((await run(job.id)).body.run).toMatchObject({ status: "ok" });
    const on = await put({ enabled: true, command: ["true"] });
    expect(on).toMatchObject({ type: "command", prompt: null, command: ["true"], timezone: "Asia/Bangkok" });
    expect(on.state.nextRunAt).toBe(job.state.nextRunAt);
    expect(await put({ scheduleAt: "2090-01-01T00:00" })).toMatchObject({
      scheduleKind: "at",
      scheduleAt: "2089-12-31T17:00:00.000Z",
      schedule: null,
    });
  });
});

describe("a time limit", () => {
  it("stops the turn as an error; a success may delete the job [CRON-2]", async () => {
    const slow = await made({ prompt: "HANG", timeoutMs: 300 });
    expect((await run(slow.id)).body.run).toMatchObject({
      status: "error",
      error: "It took longer than 0.3 s and was stopped.",
    });
    const once = await made({ prompt: "SAY bye", deleteAfterRun: true });
    expect((await run(once.id)).body.run).toMatchObject({ status: "ok", output: "bye" });
    expect(await gateway.json("GET", `${CRONS}/${once.id}`)).toMatchObject({ status: 404 });
    await until(async () => {
      const path = "/api/v1/events?stream=false&types=cron.finished&limit=200";
      const { body } = await gateway.json("GET", path);
      const told = (body.events as Array<{ data: Json }>).find(({ data }) => data.jobId === once.id);
      return told?.data.status === "ok" && told.data.trigger === "manual";
    }, "the event");
  });

  it("deletes no job that somebody has changed while it ran [CRON-2]", async () => {
    const once = await made({ command: "until [ -e go-on ]; do sleep 0.05; done", deleteAfterRun: true });
    const run = gateway.json("POST", `${CRONS}/${once.id}/run`);
    await until(async () => {
      const { body } = await gateway.json("GET", `${CRONS}/${once.id}/runs`);
      return (body.runs as Json[])[0]?.startedAt !== null;
    }, "the run");
    await gateway.json("PUT", `${CRONS}/${once.id}`, { body: { deleteAfterRun: false } });
    const other = await made({ command: ["touch", "go-on"] });
    await gateway.json("POST", `${CRONS}/${other.id}/run`);
    expect((await run).body.run).toMatchObject({ status: "ok" });
    expect(await gateway.json("GET", `${CRONS}/${once.id}`)).toMatchObject({
      status: 200,
      body: { job: { deleteAfterRun: false, state: { runCount: 1, lastStatus: "ok" } } },
    });
  });
});
