import { connect, createServer, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { cliSuite } from "./fixtures/cli-suite.ts";
import { KEYS } from "./harness.ts";

const { suite, cli, value } = cliSuite();

describe("exit codes and connection", () => {
  it("wrong usage is exit code 2, with a short usage on stderr and nothing on stdout [CLI-2]", async () => {
    const wrong: string[][] = [
      [],
      ["nothing"],
      ["constructor"],
      ["agents"],
      ["agents", "nothing"],
      ["agents", "list", "--nothing"],
      ["agents", "list", "extra"],
      ["messages", "send", "assistant"],
      ["messages", "send", "assistant", "hi"],
      ["messages", "send", "assistant", "hi", "--chat"],
      ["messages", "send", "assistant", "hi", "--chat", "me", "--timeout", "soon"],
      ["messages", "send", "assistant", "hi", "--chat", "me", "--data", "[1]"],
      ["messages", "send", "assistant", "hi", "--chat", "me", "--data", "{bad"],
      ["media", "upload", "assistant"],
      ["agents", "list", "--url", "not-an-address"],
      ["api", "GET"],
      ["api", "FETCH", "/health"],
      ["backup", "create"],
      ["config", "nothing"],
      ["completion", "tcsh"],
    ];
    for (const args of wrong) {
      const { code, stdout, stderr } = await cli(args);
      expect(`${args.join(" ")}: ${code}${stdout}`).toBe(`${args.join(" ")}: 2`);
      expect(stderr).toContain("Usage: agent-gateway");
    }
  }, 60_000);

  it("a failure is exit code 1, with the error's sentence and code on stderr and nothing on stdout [CLI-2]", async () => {
    const failures: [args: string[], told: RegExp, env?: Record<string, string>][] = [
      [["agents", "get", "nobody"], /\(AGENT_NOT_FOUND\)/],
      [["agents", "list"], /--key or GATEWAY_API_KEY.*\(API_KEY_MISSING\)/, { GATEWAY_API_KEY: "" }],
      [["agents", "list", "--key", "wrong"], /\(API_KEY_INVALID\)/],
      [["sessions", "list", "assistant", "--chat", "a/b"], /\(INVALID_CHAT_ID\)/],
      [["agents", "list", "--url", "http://127.0.0.1:1"], /agent-gateway start/],
      [["media", "upload", "assistant", "/nowhere/at/all"], /no such file/i],
      [["history", "import", "assistant", "/nowhere/at/all"], /no such file/i],
      [["api", "GET", "/api/v1/nothing"], /\(NOT_FOUND\)/],
    ];
    for (const [args, told, env] of failures) {
      for (const more of [[], ["--json"]]) {
        const { code, stdout, stderr } = await cli([...args, ...more], env ? { env } : {});
        expect(`${args.join(" ")}: ${code}${stdout}`).toBe(`${args.join(" ")}: 1`);
        expect(stderr).toMatch(told);
      }
    }
  }, 60_000);

  it("flags win over GATEWAY_URL and GATEWAY_API_KEY [CLI-2]", async () => {
    const env = { GATEWAY_URL: "http://127.0.0.1:1", GATEWAY_API_KEY: "wrong" };
    const { code, stdout } = await cli(
      ["agents", "list", "--url", `${suite.gateway.url}/`, "--key", KEYS.plain, "--json"],
      { env },
    );
    expect(code).toBe(0);
    expect(JSON.parse(stdout).agents).toHaveLength(1);
  });
});

describe("streams", () => {
  const send = ["messages", "send", "assistant"];

  it("--stream prints the text as it comes [CLI-1]", async () => {
    let first = "";
    const { code, stdout } = await cli([...send, "SLOW 20 50", "--chat", "live", "--stream"], {
      onOutput: (_, text) => {
        first ||= text;
      },
    });
    expect(code).toBe(0);
    expect(stdout).toMatch(/\n$/);
    expect(first.length).toBeLessThan(stdout.length / 2);
  });

  it("tools and thoughts go to stderr, a failed turn is exit code 1 [CLI-2]", async () => {
    const tool = await cli([...send, "TOOL Read", "--chat", "tools", "--stream"]);
    expect(tool.stderr).toContain("[uses Read]");
    expect(tool.stdout).not.toContain("[");
    const failed = await cli([...send, "ERR it broke", "--chat", "tools", "--stream", "--json"]);
    expect(failed.code).toBe(1);
    expect(JSON.parse(failed.stdout)).toMatchObject({ type: "error" });
    expect(failed.stderr).not.toBe("");
  });

  it("a slash command answers one JSON value with --stream too", async () => {
    await cli([...send, "hello", "--chat", "slash"]);
    expect(await value(...send, "/session", "--chat", "slash", "--stream")).toMatchObject({
      command: "/session",
    });
  });

  it("Ctrl-C stops the turn, also of a session that was not named", async () => {
    let pressed = false;
    const { code, stderr } = await cli([...send, "SLOW 400 50", "--chat", "ctrl-c", "--stream"], {
      onOutput(child) {
        if (!pressed) child.kill("SIGINT");
        pressed = true;
      },
    });
    expect(code).toBe(130);
    expect(stderr).toContain("interrupted");
    const { sessions } = await value<{ sessions: { id: string }[] }>(
      "sessions",
      "list",
      "assistant",
      "--chat",
      "ctrl-c",
    );
    const page = await value<{ messages: unknown[] }>("history", "messages", "assistant", "api-ctrl-c");
    expect(page.messages[0]).toMatchObject({
      role: "assistant",
      interrupted: true,
      sessionId: sessions[0]!.id,
    });
  });

  it("reads on where a broken connection left off", async () => {
    const sockets = new Set<Socket>();
    let cuts = 0;
    const target = new URL(suite.gateway.url);
    const proxy = createServer((socket) => {
      sockets.add(socket);
      const up = connect(Number(target.port), target.hostname);
      socket.on("error", () => up.destroy()).pipe(up);
      up.on("error", () => socket.destroy()).pipe(socket);
    });
    await new Promise<void>((done) => proxy.listen(0, "127.0.0.1", done));
    const { port } = proxy.address() as { port: number };
    try {
      const args = [
        ...send,
        "SLOW 40 50",
        "--chat",
        "broken",
        "--stream",
        "--url",
        `http://127.0.0.1:${port}`,
      ];
      const { code, stdout, stderr } = await cli(args, {
        onOutput() {
          if (cuts++ === 0) for (const socket of sockets) socket.resetAndDestroy();
        },
      });
      expect(`${code} ${stderr}`).toMatch(/^0 Connection lost/);
      const page = await value<{ messages: { content: string }[] }>(
        "history",
        "messages",
        "assistant",
        "api-broken",
      );
      expect(stdout.trimEnd()).toBe(page.messages[0]!.content.trimEnd());
    } finally {
      proxy.close();
    }
  });
});
