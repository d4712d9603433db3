import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  alive,
  fakeAgent,
  fakeTerminal,
  type Gateway,
  put,
  startGateway,
  testConfig,
  until,
} from "./harness.ts";

type Json = Record<string, unknown>;
const runtime = (...args: string[]) => ({
  type: "agent-cli",
  command: [process.execPath, fakeTerminal, ...args],
});

/** A gateway whose agents run in terminals; each has flags of the fake program. */
function config(agents: Record<string, { flags?: string[]; entry?: Json }>, gateway: Json = {}): Json {
  const base = testConfig({ gateway: { headless: false, ...gateway } });
  return {
    ...base,
    agents: Object.entries(agents).map(([id, { flags = [], entry }]) => ({
      id,
      description: id,
      runtime: runtime(...flags),
      ...entry,
    })),
  };
}
const say = async (gateway: Gateway, agent: string, message: string, more: Json = {}) =>
  (
    await gateway.json("POST", `/api/v1/agents/${agent}/messages`, {
      body: { message, chat_id: "me", ...more },
    })
  ).body;

describe("agents in a terminal", () => {
  let gateway: Gateway;
  beforeAll(async () => {
    gateway = await startGateway({
      config: config({
        assistant: {},
        caret: { flags: ["--ask-trust", "--ask-bypass", "caret"] },
        numbered: { flags: ["--ask-bypass", "numbered"] },
        strange: { flags: ["--ask-other"] },
        limited: { entry: { allowTools: ["Read"] } },
        planner: { entry: { orchestration: { enabled: true } } },
        plain: { entry: { runtime: { type: "agent-cli", command: [process.execPath, fakeAgent] } } },
      }),
      gateway: { headless: false },
    });
  });
  afterAll(() => gateway[Symbol.asyncDispose]());

  it("answer every kind of message as without one [PTY-1, PTY-2]", async () => {
    const first = await say(gateway, "assistant", "hello there");
    expect(first.response).toBe("Echo[1]: hello there");
    const session_id = first.session_id;
    expect(await say(gateway, "assistant", "TOOL Bash", { session_id })).toMatchObject({
      response: "Before.\n\nAfter.",
      usage: { inputTokens: 2000, estimated: false },
    });
    expect(await say(gateway, "assistant", "ERR API Error: 529", { session_id })).toMatchObject({
      code: "AGENT_FAILED",
      error: expect.stringContaining("overloaded (529)"),
    });
    const argv = JSON.parse((await say(gateway, "assistant", "ARGV", { session_id })).response as string);
    expect(argv.slice(0, 3)).toEqual(["--session-id", session_id, "--dangerously-skip-permissions"]);
    for (const flag of ["-p", "--verbose", "--input-format", "--permission-prompt-tool"])
      expect(argv).not.toContain(flag);
  });

  it("are asked no permission: only their tools are there [PTY-1]", async () => {
    expect((await say(gateway, "limited", "TOOL Bash")).response).toContain("There is no such tool.");
    expect((await say(gateway, "limited", "TOOL Read")).response).toBe("Before.\n\nAfter.");
  });

  it.each(["caret", "numbered"])("have their permission question answered: %s [PTY-6]", async (agent) => {
    expect((await say(gateway, agent, "hello")).response).toBe("Echo[1]: hello");
  });

  it("get no key for a question that nobody knows [PTY-6]", async () => {
    const base = "/api/v1/agents/strange/sessions";
    const { sessionId } = (await gateway.json("POST", base, { body: { chat_id: "me" } })).body;
    const reply = await say(gateway, "strange", "hello", { session_id: sessionId, timeout_ms: 1500 });
    // Any key would have been an answer, and the program would have gone on.
    expect(reply.code).toBe("TIMEOUT");
    const stopped = await gateway.json("POST", `${base}/${sessionId}/stop`, { body: { chat_id: "me" } });
    expect(stopped.body).toEqual({ stopped: true });
  });

  it("use the gateway's own tools, by a file that goes with the process [PTY-9]", async () => {
    const path = await put(join(gateway.home, "agents/assistant/workspace"), "report.txt", "figures");
    const { response, session_id } = await say(gateway, "assistant", `SHARE ${path}`);
    expect(response).toMatch(/^Shared: The file is attached/);
    const file = join(gateway.home, "agents/assistant/sessions/api-me", session_id as string, "mcp.json");
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const base = `/api/v1/agents/assistant/sessions/${session_id}`;
    await gateway.json("DELETE", `${base}?chat_id=me`);
    await expect(stat(file)).rejects.toThrow();
  });

  it("resume their conversation with the next process [PTY-8, PTY-10]", async () => {
    const { session_id } = await say(gateway, "assistant", "remember me");
    const restart = `/api/v1/agents/assistant/sessions/${session_id}/restart`;
    expect((await gateway.json("POST", restart, { body: { chat_id: "me" } })).status).toBe(200);
    const again = await say(gateway, "assistant", "HISTORY", { session_id });
    expect(again.response).toContain("remember me");
  });

  it("change with the configuration at the next process of a session [PTY-1]", async () => {
    const { session_id } = await say(gateway, "assistant", "before");
    const now = (await gateway.config()) as { gateway: Json; agents: Json[] };
    const pid = Number((await say(gateway, "assistant", "PID", { session_id })).response);
    now.gateway.headless = true;
    await gateway.writeConfig(now);
    await until(() => gateway.output().includes("configuration"), "the change to be read");
    expect(Number((await say(gateway, "assistant", "PID", { session_id })).response)).toBe(pid);
    const { response } = await say(gateway, "plain", "ARGV");
    expect(JSON.parse(response as string)).toContain("-p");
    now.gateway.headless = false;
    await gateway.writeConfig(now);
  });
});

it("leaves no process behind when the gateway is killed, and answers no question where it may not [PTY-6, PTY-10]", async () => {
  const gateway = await startGateway({
    config: config({ assistant: {}, asked: { flags: ["--ask-bypass", "numbered"] } }),
    gateway: { headless: false },
    env: { PTY_SHELL_SKIP_DIALOG_DISMISS: "1" },
  });
  const fork = Number((await say(gateway, "assistant", "FORK")).response);
  const agent = Number((await say(gateway, "assistant", "PID")).response);
  const waits = await gateway.json("POST", "/api/v1/agents/asked/messages", {
    body: { message: "hello", chat_id: "me", timeout_ms: 1000 },
  });
  expect(waits.body.code).toBe("TIMEOUT");
  const children = await readdir(join(gateway.home, "run/children"));
  await gateway.kill();
  await until(() => !alive(agent) && children.every((pid) => !alive(Number(pid))), "the programs to end");
  // What has left its parent's group is ended by the next start.
  await using next = await startGateway({ home: gateway.home });
  await until(() => !alive(fork), "the children's children to end");
  expect(next.url).toContain("http");
});
