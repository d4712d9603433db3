import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createAcpRuntime } from "../../../../packages/gateway/src/runtimes/acp/index.ts";
import { recogniseCommand } from "../../../../packages/gateway/src/runtimes/acp/programs.ts";
import { manualClock } from "../../../fixtures/manual-clock.ts";
import { tempFolder } from "../../../fixtures/temp-home.ts";
import { root } from "../../../harness.ts";
import { openOptions, runTurn } from "../open-options.ts";
import { openFake } from "./open-fake.ts";

const FAKE = join(root, "test/fixtures/fake-acp-agent.mjs");

interface Start {
  args: string[];
  env: Record<string, string>;
  meta?: unknown;
}

/** Starts the fake under the name of another program and tells what it was started with, a line each start. */
async function startAs(
  name: string,
  { allowTools = false as boolean | string[], args = [] as string[], fake = {} } = {},
) {
  const dir = await tempFolder();
  const argsFile = join(dir, "starts.jsonl");
  const env = { FAKE_ACP: JSON.stringify({ name, argsFile, ...fake }) };
  const runtime = createAcpRuntime({
    command: [process.execPath, FAKE],
    args,
    hostEnv: process.env,
    env,
    allowTools,
  });
  const open = async () => {
    const session = await runtime.open(openOptions({ env, allowTools, cwd: dir, sessionDir: dir }));
    const lines = (await readFile(argsFile, "utf8")).trim().split("\n");
    return { session, starts: lines.map((line) => JSON.parse(line) as Start) };
  };
  return { runtime, open, dir };
}

async function limitsOf(name: string, options: Parameters<typeof startAs>[1] = {}): Promise<Start> {
  const { open } = await startAs(name, options);
  const { session, starts } = await open();
  await session.close();
  expect(starts).toHaveLength(1);
  return starts[0]!;
}

describe("a known program is held to allowTools by its own switches [LIM-1]", () => {
  test("opencode denies every tool, and asks for those that are listed", async () => {
    const none = await limitsOf("OpenCode");
    expect(JSON.parse(none.env.OPENCODE_PERMISSION!)).toMatchObject({
      "*": "deny",
      bash: "deny",
      edit: "deny",
      "gateway_*": "allow",
    });
    expect(none.env.OPENCODE_DISABLE_PROJECT_CONFIG).toBe("1");
    const some = await limitsOf("OpenCode", { allowTools: ["bash", "write"] });
    expect(JSON.parse(some.env.OPENCODE_PERMISSION!)).toMatchObject({
      "*": "deny",
      bash: "ask",
      edit: "ask",
      read: "deny",
    });
    expect((await limitsOf("OpenCode", { allowTools: true })).env).toEqual({});
  });

  test("Gemini CLI gets an administrator's policy, and no argument lifts it", async () => {
    const args = [
      "--acp",
      "--yolo",
      "--approval-mode",
      "yolo",
      "--allowed-tools=run_shell_command",
      "-m",
      "x",
    ];
    const { open, dir } = await startAs("gemini-cli", { allowTools: ["read_file"], args });
    const { session, starts } = await open();
    await session.close();
    const policy = join(dir, "limits/gemini-policy.toml");
    expect(starts[0]!.args).toEqual([
      "--acp",
      "-m",
      "x",
      "--admin-policy",
      policy,
      "--approval-mode",
      "default",
    ]);
    const rules = (await readFile(policy, "utf8")).split("[[rule]]").map((rule) => rule.trim());
    expect(rules).toContain('toolName = "*"\ndecision = "deny"\npriority = 900');
    expect(rules).toContain('toolName = "read_file"\ndecision = "ask_user"\npriority = 920');
  });

  test("Qwen Code registers the listed tools alone", async () => {
    const none = await limitsOf("qwen-code", { args: ["--acp", "--approval-mode=yolo", "-y"] });
    expect(none.args.slice(0, 2)).toEqual(["--acp", "--core-tools=none"]);
    expect(none.args[2]).toMatch(/^--exclude-tools=.*\bagent\b/);
    expect(none.args.slice(-2)).toEqual(["--approval-mode", "default"]);
    const some = await limitsOf("qwen-code", { allowTools: ["read_file", "run_shell_command"] });
    expect(some.args[0]).toBe("--core-tools=read_file,run_shell_command");
    expect(some.args[1]).not.toContain("run_shell_command");
  });

  test("codex-acp has its features off and its sandbox read-only", async () => {
    const none = await limitsOf("@agentclientprotocol/codex-acp");
    expect(none.env.INITIAL_AGENT_MODE).toBe("read-only");
    expect(JSON.parse(none.env.CODEX_CONFIG!)).toMatchObject({
      features: { shell_tool: false, unified_exec: false, multi_agent: false },
      include_apply_patch_tool: false,
      web_search: "disabled",
    });
    const some = await limitsOf("@agentclientprotocol/codex-acp", { allowTools: ["exec_command"] });
    expect(some.env.INITIAL_AGENT_MODE).toBe("agent");
    expect(JSON.parse(some.env.CODEX_CONFIG!).features).toMatchObject({ shell_tool: true, goals: false });
  });

  test("claude-agent-acp is told its tools when the session opens", async () => {
    const { meta } = await limitsOf("@agentclientprotocol/claude-agent-acp", { allowTools: ["Read"] });
    expect(meta).toEqual({ claudeCode: { options: { tools: ["Read"] } } });
  });
});

test.each([
  [["opencode", "acp"], "opencode"],
  [["npx", "-y", "@google/gemini-cli@0.61.0", "--acp"], "Gemini CLI"],
  [["node", "/opt/x/node_modules/@qwen-code/qwen-code/cli.js"], "Qwen Code"],
  [["/opt/x/node_modules/@agentclientprotocol/codex-acp/dist/index.js"], "codex-acp"],
  [["/opt/x/node_modules/@zed-industries/codex-acp/bin/codex-acp.js"], "codex-acp (Zed)"],
  [["claude-agent-acp"], "claude-agent-acp"],
  [["/usr/local/bin/copilot", "--acp"], "GitHub Copilot CLI"],
  [["my-agent", "--label", "opencode acp"], undefined],
])("the command %j is recognised as %s", async (command, name) => {
  expect((await recogniseCommand(command, "/", { PATH: "/nowhere" }))?.name).toBe(name);
});

test("a known program that has no switch for its tools does not start with limited ones [LIM-2]", async () => {
  const { runtime, open } = await startAs("Cline");
  await expect(open()).rejects.toThrow(
    /^allowTools cannot be enforced for Cline, so the agent does not start: /,
  );
  const facts = await runtime.inspect();
  expect(facts.problem).toMatch(/^allowTools cannot be enforced for Cline/);
  expect((await (await startAs("Cline", { allowTools: true })).open()).session.pid).toBeGreaterThan(0);
});

test("an unknown program starts with a warning [LIM-3]", async () => {
  const { runtime, open } = await startAs("something-else");
  await (await open()).session.close();
  const { problem, warnings, program, version } = await runtime.inspect();
  expect({ problem, program, version }).toEqual({
    problem: null,
    program: "fake-acp-agent.mjs",
    version: "1.0.0",
  });
  expect(warnings).toEqual([
    "The gateway does not know how to limit the tools of fake-acp-agent.mjs: " +
      "allowTools applies only as far as the program asks for permission.",
  ]);
});

describe("a tool that is used without permission [LIM-4]", () => {
  const session = async (allowTools: boolean | string[] = false) => {
    const { open } = await startAs("something-else", { allowTools });
    return (await open()).session;
  };
  const UNASKED = "The agent used a tool that it is not allowed to use, so the turn was ended.";

  test("ends its turn once it is over, whatever its title says", async () => {
    const one = await session();
    expect((await runTurn(one, "SAY before\nRUN execute touch one")).outcome).toEqual({
      status: "failed",
      text: "before",
      error: UNASKED,
    });
    expect((await runTurn(one, "SAY next")).outcome.status).toBe("done");
  });

  test("ends its turn while it is still at work, too", async () => {
    expect((await runTurn(await session(["Read"]), "HIDE Bash")).outcome).toMatchObject({ error: UNASKED });
  });

  test("is none that is listed, was asked for, or failed", async () => {
    const one = await session(["Read"]);
    const script = "TOOL Read\nFAILTOOL Bash\nASK Bash execute allow_once,reject_once\nTOOL mcp__gateway__x";
    expect((await runTurn(one, script)).outcome.status).toBe("failed");
    const fine = "TOOL Read\nFAILTOOL Bash\nASK Bash execute allow_once,reject_once";
    expect((await runTurn(one, fine)).outcome).toMatchObject({ status: "done", text: "id-reject_once" });
    expect((await runTurn(await session(true), "TOOL Bash")).outcome.status).toBe("done");
  });
});

describe("a question for a tool that waits for the disk", () => {
  test("counts as asked from the moment it came [LIM-4]", async () => {
    const clock = manualClock();
    const asked = Promise.withResolvers<void>();
    const disk = Promise.withResolvers<void>();
    const acting = () => {
      asked.resolve();
      return disk.promise;
    };
    const session = await openFake({}, { allowTools: false, clock, acting });
    const turn = runTurn(session, "ASK Bash execute allow_once,reject_once in_progress");
    await asked.promise;
    clock.advance(5_000);
    disk.resolve();
    expect((await turn).outcome).toMatchObject({ status: "done", text: "id-reject_once" });
  });
});

describe("an agent that wants to be signed in", () => {
  const refusal = async (fake: object) =>
    (await startAs("x", { allowTools: true, fake: { auth: true, ...fake } })).open().then(
      () => "it started",
      (error: Error) => error.message,
    );
  const browser = { id: "oauth", name: "Log in", description: "Run `x login` in a terminal" };

  test("is signed in by its key where it offers that", async () => {
    const authMethods = [browser, { id: "api-key", name: "API key" }];
    expect(await refusal({ authMethods })).toBe("it started");
  });

  test("is told with its own words for what to do, and with those of its stderr", async () => {
    const sentence =
      "The agent is not signed in. As the user that runs the gateway: Run `x login` in a terminal";
    expect(await refusal({ authMethods: [browser] })).toBe(`${sentence}.`);
    const stderr = "starting\n\u001b[31mYou are not logged in: see /home/me/.x/help.txt\u001b[0m\nbye";
    expect(await refusal({ authMethods: [browser], stderr })).toBe(
      `${sentence}: You are not logged in: see [path]`,
    );
  });
});
