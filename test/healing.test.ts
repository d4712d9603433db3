import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runCli } from "./fixtures/cli.ts";
import { startTeamchatRig } from "./fixtures/teamchat-rig.ts";
import {
  type Frame,
  type Gateway,
  KEYS,
  readFrames,
  root,
  startGateway,
  testConfig,
  until,
} from "./harness.ts";

type Json = Record<string, unknown>;
interface Shown extends Json {
  id: string;
  stage: string;
  requestId: string;
  sessionId: string;
  outcome: string;
  evidence: string;
  actions: Json[];
}

const stuckAgent = join(root, "test/fixtures/stuck-agent.mjs");
const acpAgent = join(root, "test/fixtures/fake-acp-agent.mjs");
const SECRET = "a-secret-of-the-agent-0815";
const QUICK = { quietSeconds: 1, readySeconds: 1, cooldownSeconds: 1 };

/** A gateway whose agent gets stuck as it is told; the second one starts only at its second start. */
async function startStuck(selfHealing: Json): Promise<Gateway> {
  const config = testConfig({ gateway: { selfHealing: { ...QUICK, ...selfHealing } } });
  const agents = config.agents as Json[];
  Object.assign(agents[0]!, {
    runtime: { type: "agent-cli", command: [process.execPath, stuckAgent] },
    env: { STUCK_LOG: "told.log", STUCK_STDERR: `Boom: ${SECRET} token=abcdefgh12345\n`, MY_SECRET: SECRET },
  });
  const hangs = [process.execPath, stuckAgent, "--hang-once", "started.once", acpAgent];
  Object.assign(agents[1]!, { runtime: { type: "acp", command: hangs } });
  return startGateway({ config });
}

const listOf = async (gateway: Gateway, agent = "assistant") => {
  const { status, body } = await gateway.json("GET", `/api/v1/agents/${agent}/incidents`, { key: KEYS.all });
  expect(status).toBe(200);
  return body.incidents as Shown[];
};
const latest = (gateway: Gateway, stage: string) =>
  until(async () => {
    const [newest] = await listOf(gateway);
    return newest?.stage === stage && newest.outcome === "open" ? newest : undefined;
  }, `an incident ${stage}`);
const act = (gateway: Gateway, id: string, body: unknown, key?: string) =>
  gateway.json("POST", `/api/v1/agents/assistant/incidents/${id}/act`, { body, ...(key && { key }) });
/** How often the agent's programs were told a message, and by how many of them. */
async function told(gateway: Gateway, text: string) {
  const lines = (await readFile(join(gateway.home, "agents/assistant/workspace/told.log"), "utf8")).split(
    "\n",
  );
  const own = lines.filter((line) => line.includes(text));
  return { times: own.length, processes: new Set(own.map((line) => line.split(" ")[0])).size };
}
const history = async (gateway: Gateway, sessionId: unknown) => {
  const path = `/api/v1/agents/assistant/chats/api-me/messages?session_id=${sessionId}&order=asc`;
  const { body } = await gateway.json("GET", path);
  return (body.messages as Json[]).map(({ role, content }) => [role, content]);
};
const framesOf = (frames: readonly Frame[]) =>
  frames
    .filter(({ data }) => data.type === "incident")
    .map(({ data: { stage, action, outcome } }) => [stage, action, outcome]);
const eventsOf = async (gateway: Gateway, requestId: unknown) => {
  const { body } = await gateway.json("GET", "/api/v1/events?stream=false&limit=200&types=incident.*");
  return (body.events as { type: string; data: Json }[])
    .filter(({ data }) => data.requestId === requestId)
    .map(({ type, data }) => [type, data.stage, data.outcome]);
};

/** Sends a message and reads its stream beside whatever else happens. */
async function begin(gateway: Gateway, message: string, extra: Json = {}) {
  const response = await gateway.request("POST", "/api/v1/agents/assistant/messages", {
    body: { message, chat_id: "me", stream: true, ...extra },
  });
  expect(response.status).toBe(200);
  const frames: Frame[] = [];
  const done = (async () => {
    for await (const frame of readFrames(response)) frames.push(frame);
    return frames;
  })();
  return { requestId: response.headers.get("x-request-id"), frames, done };
}

describe("a watchdog that only reports", () => {
  let gateway: Gateway;
  beforeAll(async () => {
    gateway = await startStuck({});
  });
  afterAll(() => gateway[Symbol.asyncDispose]());

  it("tells of a process that writes nothing; a person lets another have the message [HEAL-2] [HEAL-4] [HEAL-5] [HEAL-7] [HEAL-8] [HEAL-9]", async () => {
    const turn = await begin(gateway, "ONCE one MUTE please");
    const found = await latest(gateway, "no_output");
    expect(found).toMatchObject({
      chatId: "api-me",
      requestId: turn.requestId,
      action: null,
      allowed: ["restart", "resend"],
      actions: [],
      closedAt: null,
      detectedAt: expect.any(Number),
      evidence: expect.stringMatching(/^The program has written nothing for \d+ seconds?\.$/),
    });
    const { body } = await gateway.json("GET", "/status");
    const sessions = (body.agents as { id: string; sessions: Json[] }[])[0]!.sessions;
    expect(sessions.find(({ sessionId }) => sessionId === found.sessionId)).toMatchObject({
      backend: "headless",
      busy: true,
      incident: { id: found.id, stage: "no_output" },
    });

    expect((await act(gateway, "none", { action: "fly" })).status).toBe(404);
    expect((await act(gateway, found.id, { action: "restart" }, KEYS.write)).status).toBe(403);
    for (const body of [{ action: "fly" }, {}, { action: "key" }, { action: "headless" }])
      expect((await act(gateway, found.id, body)).body.code).toBe("INVALID_REQUEST");
    const done = await act(gateway, found.id, { action: "restart" });
    expect(done.status).toBe(200);
    const shown = done.body.incident as Shown;
    expect(shown.actions).toEqual([{ action: "restart", at: expect.any(Number), by: "person", ok: true }]);

    const frames = await turn.done;
    expect(frames.find(({ data }) => data.type === "result")?.data).toMatchObject({
      text: "Echo: ONCE one MUTE please",
      session_id: found.sessionId,
      request_id: turn.requestId,
    });
    expect(framesOf(frames)).toEqual([
      ["no_output", null, "open"],
      ["no_output", "restart", "open"],
      ["no_output", "restart", "recovered"],
    ]);
    expect(await told(gateway, "ONCE one MUTE")).toEqual({ times: 2, processes: 2 });
    expect(await history(gateway, found.sessionId)).toEqual([
      ["user", "ONCE one MUTE please"],
      ["assistant", "Echo: ONCE one MUTE please"],
    ]);
    expect((await listOf(gateway))[0]).toMatchObject({
      outcome: "recovered",
      allowed: [],
      closedAt: expect.any(Number),
    });
    const late = await act(gateway, found.id, { action: "restart" });
    expect([late.status, late.body.code]).toEqual([409, "CONFLICT"]);
    await until(async () => (await eventsOf(gateway, turn.requestId)).length === 2, "both events");
    expect(await eventsOf(gateway, turn.requestId)).toEqual([
      ["incident.opened", "no_output", undefined],
      ["incident.closed", "no_output", "recovered"],
    ]);
    expect(gateway.output()).toContain("a turn is stuck");
  });

  it("lets a person send the message again to the same process, once nothing came of it [HEAL-7] [HEAL-8]", async () => {
    const turn = await begin(gateway, "ONCE two MUTE again");
    const found = await latest(gateway, "no_output");
    const [first, second] = await Promise.all([
      act(gateway, found.id, { action: "resend" }),
      act(gateway, found.id, { action: "resend" }),
    ]);
    expect([first.status, second.status].toSorted()).toEqual([200, 409]);
    await turn.done;
    expect(await told(gateway, "ONCE two MUTE")).toEqual({ times: 2, processes: 1 });
    expect(await history(gateway, found.sessionId)).toHaveLength(2);
  });

  it("allows no second try of what has begun: a restart ends the turn with its text [HEAL-7]", async () => {
    const turn = await begin(gateway, "HALF");
    const found = await latest(gateway, "no_output");
    expect(found.allowed).toEqual(["restart"]);
    expect((await act(gateway, found.id, { action: "resend" })).body.code).toBe("INVALID_REQUEST");
    expect((await act(gateway, found.id, { action: "restart" })).status).toBe(200);
    const frames = await turn.done;
    expect(frames.at(-2)?.data).toMatchObject({ type: "result", text: "Half an ans", interrupted: true });
    expect(framesOf(frames).at(-1)).toEqual(["no_output", "restart", "ended"]);
    expect((await told(gateway, '"HALF"')).times).toBe(1);
    expect((await listOf(gateway))[0]).toMatchObject({ outcome: "ended" });
  });

  it("tells of a process that is gone, and ends the turn as failed with its text [HEAL-3] [HEAL-4] [HEAL-10]", async () => {
    const turn = await begin(gateway, "HALFDIE");
    const frames = await turn.done;
    expect(framesOf(frames)).toEqual([
      ["exited", null, "open"],
      ["exited", null, "ended"],
    ]);
    expect(frames.at(-2)?.data).toMatchObject({ type: "error", code: "AGENT_FAILED" });
    const [found] = await listOf(gateway);
    expect(found).toMatchObject({
      stage: "exited",
      outcome: "ended",
      actions: [],
      allowed: [],
      action: null,
    });
    expect(found!.evidence).toContain("Boom: [redacted]");
    expect(found!.evidence).not.toMatch(/0815|abcdefgh12345/);
    expect(await history(gateway, found!.sessionId)).toEqual([
      ["user", "HALFDIE"],
      ["assistant", "Half an ans"],
    ]);
  });

  it("sees an answer that comes after all, also one that is a result line alone, and one that is stopped [HEAL-5] [HEAL-12]", async () => {
    const turn = await begin(gateway, "RESULT 2500");
    await latest(gateway, "no_output");
    expect((await turn.done).at(-2)?.data).toMatchObject({ type: "result", text: "Only a result." });
    expect((await listOf(gateway))[0]).toMatchObject({ outcome: "recovered", actions: [] });

    const stopped = await begin(gateway, "MUTE");
    const { sessionId } = await latest(gateway, "no_output");
    const stop = await gateway.json("POST", `/api/v1/agents/assistant/sessions/${sessionId}/stop`, {
      body: { chat_id: "me" },
    });
    expect(stop.body.stopped).toBe(true);
    expect(framesOf(await stopped.done).at(-1)).toEqual(["no_output", null, "ended"]);
  });

  it("waits longer while a tool runs [HEAL-2]", async () => {
    const turn = await begin(gateway, "TOOL");
    await until(() => turn.frames.some(({ data }) => data.type === "tool_use"), "the tool");
    const before = (await listOf(gateway)).length;
    const muted = await begin(gateway, "MUTE", { chat_id: "other" });
    const found = await latest(gateway, "no_output");
    expect(found.requestId).toBe(muted.requestId);
    expect(await listOf(gateway)).toHaveLength(before + 1);
    for (const { data } of [turn.frames[0]!]) expect(data.request_id).toBe(turn.requestId);
    await gateway.json("POST", `/api/v1/agents/assistant/messages`, {
      body: { message: "/stop", chat_id: "me" },
    });
    await gateway.json("POST", `/api/v1/agents/assistant/messages`, {
      body: { message: "/stop", chat_id: "other" },
    });
    await Promise.all([turn.done, muted.done]);
  });

  it("is seen and used from the command line [HEAL-13]", async () => {
    const turn = await begin(gateway, "ONCE cli MUTE");
    const found = await latest(gateway, "no_output");
    const env = { GATEWAY_URL: gateway.url, GATEWAY_API_KEY: KEYS.admin };
    const [listed, acted] = [
      await runCli(["incidents", "list", "assistant", "--json"], { env }),
      await runCli(["incidents", "act", "assistant", found.id, "restart", "--json"], { env }),
    ];
    expect((JSON.parse(listed.stdout) as { incidents: Shown[] }).incidents[0]!.id).toBe(found.id);
    expect(JSON.parse(acted.stdout)).toMatchObject({
      incident: { id: found.id, actions: [{ by: "person" }] },
    });
    await turn.done;
  });
});

describe("a watchdog that repairs", () => {
  let gateway: Gateway;
  beforeAll(async () => {
    gateway = await startStuck({ autoRecover: true });
  });
  afterAll(() => gateway[Symbol.asyncDispose]());

  it("gives a silent process's message to another [HEAL-6] [HEAL-7]", async () => {
    const { status, body } = await gateway.send("ONCE three MUTE");
    expect([status, body.response]).toEqual([200, "Echo: ONCE three MUTE"]);
    expect(await told(gateway, "ONCE three MUTE")).toEqual({ times: 2, processes: 2 });
    expect(await history(gateway, body.session_id)).toHaveLength(2);
    expect((await listOf(gateway))[0]).toMatchObject({
      stage: "no_output",
      requestId: body.request_id,
      outcome: "recovered",
      actions: [{ action: "restart", by: "watchdog", ok: true }],
    });
  });

  it("lets another process have what one that is gone did not answer, once [HEAL-3] [HEAL-6] [HEAL-7]", async () => {
    const saved = await gateway.send("ONCE four DIE");
    expect([saved.status, saved.body.response]).toEqual([200, "Echo: ONCE four DIE"]);
    expect((await listOf(gateway))[0]).toMatchObject({ stage: "exited", outcome: "recovered" });

    const turn = await begin(gateway, "DIE always");
    const frames = await turn.done;
    expect(framesOf(frames)).toEqual([
      ["exited", "restart", "open"],
      ["exited", "restart", "open"],
      ["exited", null, "gave_up"],
    ]);
    expect(frames.at(-2)?.data).toMatchObject({ type: "error", code: "AGENT_FAILED" });
    expect(await told(gateway, "DIE always")).toEqual({ times: 2, processes: 2 });
    const [lost] = await listOf(gateway);
    expect(lost).toMatchObject({ outcome: "gave_up", closedAt: expect.any(Number), action: null });
  });

  it("ends a turn that had begun with its text, and tries nothing again [HEAL-7]", async () => {
    const { status, body } = await gateway.send("HALF of it");
    expect(status).toBe(200);
    expect(body).toMatchObject({ response: "Half an ans", interrupted: true });
    expect((await told(gateway, "HALF of it")).times).toBe(1);
    const { status: failed } = await gateway.send("HALFDIE now");
    expect(failed).toBe(500);
    expect((await told(gateway, "HALFDIE now")).times).toBe(1);
    expect((await listOf(gateway))[0]).toMatchObject({ stage: "exited", outcome: "ended", actions: [] });
  });

  it("gives up when nothing is left to try; a person still can [HEAL-6]", async () => {
    const turn = await begin(gateway, "MUTE for ever");
    const found = await until(
      async () =>
        (await listOf(gateway)).find(({ outcome, closedAt }) => outcome === "gave_up" && closedAt === null),
      "it to give up",
    );
    expect(found.actions).toHaveLength(1);
    expect((await told(gateway, "MUTE for ever")).times).toBe(2);
    expect(found.allowed).toEqual(["restart", "resend"]);
    await gateway.json("POST", `/api/v1/agents/assistant/messages`, {
      body: { message: "/stop", chat_id: "me" },
    });
    const frames = await turn.done;
    expect(framesOf(frames).map(([, , outcome]) => outcome)).toEqual(["open", "open", "gave_up"]);
    expect((await listOf(gateway))[0]).toMatchObject({ outcome: "gave_up", closedAt: expect.any(Number) });
  });

  it("starts a program anew that does not get ready [HEAL-1] [HEAL-6]", async () => {
    const { status, body } = await gateway.json("POST", "/api/v1/agents/second/messages", {
      body: { message: "SAY here", chat_id: "me" },
    });
    expect([status, body.response]).toEqual([200, "here"]);
    expect((await listOf(gateway, "second"))[0]).toMatchObject({
      stage: "not_ready",
      outcome: "recovered",
      evidence: expect.stringContaining("is not ready yet"),
      actions: [{ action: "restart", ok: true }],
    });
  });
});

it("a channel's chat is told in a sentence when a turn is stuck, and when it goes on [HEAL-4]", async () => {
  await using rig = await startTeamchatRig(
    {},
    {
      gateway: { selfHealing: { ...QUICK, autoRecover: true } },
      agent: { runtime: { type: "agent-cli", command: [process.execPath, stuckAgent] } },
    },
  );
  await rig.say("ONCE chat MUTE");
  await until(() => rig.slack.posted.length >= 3, "both sentences and the reply");
  expect(rig.slack.texts().slice(0, 1)).toEqual(["The agent has stopped responding."]);
  expect(rig.slack.texts().slice(1).toSorted()).toEqual([
    expect.stringContaining("Echo:"),
    "The agent is working again.",
  ]);
});
