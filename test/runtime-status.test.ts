import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runCli } from "./fixtures/cli.ts";
import { tempFolder } from "./fixtures/temp-home.ts";
import { type Gateway, root, startGateway, until } from "./harness.ts";

const fakeAcpAgent = join(root, "test/fixtures/fake-acp-agent.mjs");

interface RuntimeStatus {
  type: string;
  program: string | null;
  login: string;
  problem: string | null;
  warnings: string[];
  lastError: { message: string; at: number } | null;
}

const statusOf = async (gateway: Gateway, id = "assistant") => {
  const { body } = await gateway.json("GET", `/api/v1/agents/${id}`);
  return (body.agent as { runtime_status: RuntimeStatus }).runtime_status;
};
const runningOf = async (gateway: Gateway) => {
  const { body } = await gateway.json("GET", "/status");
  return (body.agents as { id: string; isRunning: boolean; problem: string | null; runtime: string }[])[0]!;
};
const acp = (name: string, allowTools: unknown) => ({
  runtime: { type: "acp", command: [process.execPath, fakeAcpAgent, "--secret-argument"] },
  env: { FAKE_ACP: JSON.stringify({ name }) },
  allowTools,
});

/** A folder with a `claude` that is installed, and logged in or not. */
async function installClaude(loggedIn: boolean): Promise<string> {
  const dir = await tempFolder();
  const status = JSON.stringify({ loggedIn, authMethod: "none" });
  await writeFile(
    join(dir, "claude"),
    `#!/bin/sh\n[ "$1" = --version ] && echo "9.9.9 (Claude Code)"\n[ "$1" = auth ] && echo '${status}'\nexit 0\n`,
  );
  await chmod(join(dir, "claude"), 0o755);
  await mkdir(join(dir, "home"));
  return dir;
}
const noLogin = {
  ANTHROPIC_API_KEY: "",
  ANTHROPIC_AUTH_TOKEN: "",
  CLAUDE_CODE_OAUTH_TOKEN: "",
  OPENAI_API_KEY: "",
};

describe("the runtime of an agent as its owner sees it", () => {
  it("names program, version and the last error, and no path or argument [RST-1]", async () => {
    await using gateway = await startGateway({ agent: acp("something", true) });
    expect(await statusOf(gateway)).toEqual({
      type: "acp",
      program: "fake-acp-agent.mjs",
      version: null,
      login: "unknown",
      problem: null,
      warnings: [],
      lastError: null,
    });
    await gateway.send("ERROR -32603 overloaded");
    const failed = await statusOf(gateway);
    expect(failed).toMatchObject({ version: "1.0.0", lastError: { message: "overloaded" } });
    expect(JSON.stringify(failed)).not.toMatch(/secret-argument|fixtures/);
    await gateway.send("SAY fine");
    expect(await statusOf(gateway)).toMatchObject({ login: "ok", lastError: null });
    expect(await runningOf(gateway)).toMatchObject({ isRunning: true, runtime: "acp", problem: null });
  });

  it("says that a known program without a switch for its tools cannot start with limited ones [LIM-2]", async () => {
    await using gateway = await startGateway({ agent: acp("Cline", false) });
    const { status, body } = await gateway.send("SAY hello");
    const sentence = expect.stringMatching(/^allowTools cannot be enforced for Cline/);
    expect([status, body.error]).toEqual([500, sentence]);
    expect(await statusOf(gateway)).toMatchObject({ problem: sentence, lastError: { message: sentence } });
    expect(await runningOf(gateway)).toMatchObject({ isRunning: false, problem: sentence });
    expect(gateway.output()).toContain("allowTools cannot be enforced for Cline");
  });

  it("warns of an unknown program with limited tools: in the record, the log and doctor [LIM-3]", async () => {
    await using gateway = await startGateway({ agent: acp("something", false) });
    const warning = "The gateway does not know how to limit the tools of fake-acp-agent.mjs";
    expect((await statusOf(gateway)).warnings).toEqual([expect.stringContaining(warning)]);
    await until(() => gateway.output().includes(warning), "the warning in the log");
    const { stdout } = await runCli(["doctor"], { env: { GATEWAY_HOME: gateway.home } });
    expect(stdout).toMatch(/WARN +agent assistant: The gateway does not know/);
  });

  it("says that a program is not there", async () => {
    await using gateway = await startGateway({
      agent: { runtime: { type: "acp", command: ["/nowhere/agent"] } },
    });
    expect(await statusOf(gateway)).toMatchObject({
      program: "agent",
      problem: "The agent program was not found.",
    });
    expect((await runningOf(gateway)).isRunning).toBe(false);
  });
});

describe("an agent CLI that is not logged in", () => {
  it("is passed over by auto, which says so in the record and the log [LOG-1]", async () => {
    const dir = await installClaude(false);
    await using gateway = await startGateway({
      agent: { runtime: { type: "auto" } },
      env: { ...noLogin, PATH: `${dir}:${process.env.PATH}`, HOME: join(dir, "home"), AGENT_CLI_BIN: "" },
    });
    const status = await until(async () => {
      const now = await statusOf(gateway);
      return now.type === "auto" ? null : now;
    }, "the choice");
    expect(status.type).not.toBe("agent-cli");
    expect(status.warnings).toEqual([expect.stringMatching(/^`claude` is installed but not logged in/)]);
    expect(gateway.output()).toContain("`claude` is installed but not logged in");
  });

  it("is taken where a key is set or it is logged in", async () => {
    for (const [loggedIn, env] of [
      [true, noLogin],
      [false, { ...noLogin, ANTHROPIC_API_KEY: "key" }],
    ] as const) {
      const dir = await installClaude(loggedIn);
      await using gateway = await startGateway({
        agent: { runtime: { type: "auto" } },
        env: { ...env, PATH: `${dir}:${process.env.PATH}`, HOME: join(dir, "home"), AGENT_CLI_BIN: "" },
      });
      await until(async () => (await statusOf(gateway)).login === "ok", "the login");
      expect(await statusOf(gateway)).toMatchObject({
        type: "agent-cli",
        program: "claude",
        version: "9.9.9",
      });
    }
  });

  it("is shown with what to do about it: in the record and by doctor [LOG-2]", async () => {
    const dir = await installClaude(false);
    const env = { ...noLogin, HOME: join(dir, "home") };
    await using gateway = await startGateway({
      agent: { runtime: { type: "agent-cli", command: [join(dir, "claude")] } },
      env,
    });
    const status = await until(async () => {
      const now = await statusOf(gateway);
      return now.login === "missing" ? now : null;
    }, "the login");
    const sentence =
      /not logged in: log in with it as the user that runs the gateway, or set ANTHROPIC_API_KEY/;
    expect(status.problem).toMatch(sentence);
    const { stdout, code } = await runCli(["doctor"], { env: { ...env, GATEWAY_HOME: gateway.home } });
    expect(stdout).toMatch(/FAIL +agent assistant: The agent program is not logged in/);
    expect(code).toBe(1);
  });
});
