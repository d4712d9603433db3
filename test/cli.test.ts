import { chmod, mkdtemp, readFile, stat } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { routeList } from "@agent-gateway/contract";
import { describe, expect, it } from "vitest";
import { cliSuite } from "./fixtures/cli-suite.ts";
import { put, startGateway, until } from "./harness.ts";

const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
const { suite, cli, value } = cliSuite();

describe("nouns and verbs", () => {
  it("every noun and verb of the declarations works and --json prints one JSON value and nothing else [CLI-1]", async () => {
    const tried = new Set<string>();
    const run = <T = Record<string, unknown>>(noun: string, verb: string, ...args: string[]): Promise<T> => {
      tried.add(`${noun} ${verb}`);
      return value<T>(noun, verb, ...args);
    };
    const image = await put(suite.folder, "dot.png", PNG);
    const chat = ["--chat", "nouns"];

    expect(await run("gateway", "health")).toEqual({ status: "ok" });
    expect(await run("gateway", "ready")).toEqual({ status: "ready" });
    expect(await run("gateway", "status")).toMatchObject({ status: "ok" });
    expect(await run("gateway", "processes")).toHaveProperty("numCpus");
    expect((await run<{ text: string }>("gateway", "metrics")).text).toContain("# HELP");
    expect(await run("meta", "routes")).toHaveProperty("routes.0.method");
    expect(await run("meta", "openapi")).toHaveProperty("openapi");
    expect(await run("meta", "commands")).toHaveProperty("commands.0.name");
    expect(await run("models", "list")).toHaveProperty("models");
    expect(await run("usage", "show", "--group", "day,key", "--by-key", "none")).toHaveProperty("rows", []);

    expect(await run("agents", "create", "third", "--description", "made here")).toMatchObject({
      agent: { id: "third", description: "made here" },
    });
    expect(await run("agents", "list")).toHaveProperty("agents.2.id", "third");
    expect(await run("events", "list", "--types", "agent.*")).toHaveProperty(
      "events.0.type",
      "agent.created",
    );
    expect(
      await run("agents", "update", "third", "--allow-tools", "Read,Grep", "--orchestration_enabled"),
    ).toMatchObject({
      agent: { allow_tools: ["Read", "Grep"], orchestration_enabled: true },
    });
    expect(await run("agents", "get", "third")).toMatchObject({ agent: { description: "made here" } });
    await run("agents", "set-greeting", "third", "Say hello");
    expect(await run("agents", "greeting", "third")).toMatchObject({ text: "Say hello" });
    expect(await run("agents", "delete", "third")).toEqual({ deleted: true, id: "third" });

    const uploaded = await run<{ mediaPath: string }>("media", "upload", "assistant", image);
    const fetched = await run<{ base64: string }>("media", "get", "assistant", uploaded.mediaPath);
    expect(Buffer.from(fetched.base64, "base64")).toEqual(PNG);

    const { sessionId } = await run<{ sessionId: string }>(
      "sessions",
      "create",
      "assistant",
      ...chat,
      "--name",
      "first",
    );
    const session = ["--session", sessionId];
    const sent = await run(
      "messages",
      "send",
      "assistant",
      "look",
      ...chat,
      ...session,
      "--media",
      uploaded.mediaPath,
    );
    expect(sent).toMatchObject({ response: "Echo[1 img=1]: look", session_id: sessionId });
    expect(
      await run("messages", "inject", "assistant", "api-nouns", sessionId, "SAY hi", "--sender", "Ann"),
    ).toMatchObject({
      type: "result",
      text: "hi",
    });
    await put(suite.gateway.home, "agents/assistant/workspace/GREETING.md", "SAY welcome");
    expect(await run("messages", "greet", "assistant", ...chat, ...session)).toMatchObject({
      text: "welcome",
    });
    expect(await run("messages", "greet", "assistant", ...chat, ...session)).toBeNull();
    expect(await run("sessions", "stream", "assistant", sessionId, ...chat)).toMatchObject({
      text: "welcome",
    });
    expect(await run("sessions", "list", "assistant", ...chat)).toMatchObject({
      sessions: [{ id: sessionId, name: "first" }],
    });
    expect(await run("sessions", "rename", "assistant", sessionId, "second name", ...chat)).toMatchObject({
      sessionName: "second name",
    });
    expect(await run("sessions", "info", "assistant", sessionId, ...chat)).toMatchObject({
      sessionName: "second name",
    });
    expect(await run("sessions", "stop", "assistant", sessionId, ...chat)).toEqual({ stopped: false });
    expect(await run("sessions", "restart", "assistant", sessionId, ...chat)).toEqual({ restarting: true });
    expect(await run("sessions", "compact", "assistant", sessionId, ...chat)).toHaveProperty("success", true);

    expect(await run("history", "chats", "assistant")).toMatchObject({ chats: [{ chatId: "api-nouns" }] });
    expect(await run("history", "sessions", "assistant", "api-nouns")).toMatchObject({
      sessions: [{ sessionId }],
    });
    expect(
      await run("history", "messages", "assistant", "api-nouns", "--limit", "1", "--order", "asc"),
    ).toMatchObject({
      messages: [{ role: "user", content: "look" }],
      hasMore: true,
    });
    expect(await run("history", "search", "assistant", "api-nouns", "img=1")).toHaveProperty("total", 1);
    expect(
      await run(
        "history",
        "active-days",
        "assistant",
        "api-nouns",
        "--from",
        "0",
        "--to",
        "1000",
        "--tz-offset",
        "-60",
      ),
    ).toEqual({ days: [] });
    expect(await run("history", "all-sessions")).toHaveProperty("agents.0.agentId");
    const exported = await run<unknown[]>("history", "export", "assistant", "--chat", "api-nouns");
    const lines = await put(
      suite.folder,
      "nouns.ndjson",
      exported.map((line) => `${JSON.stringify(line)}\n`).join(""),
    );
    expect(await run("history", "import", "assistant", lines)).toMatchObject({
      imported: 0,
      skipped: exported.length,
    });

    const shared = join(suite.gateway.home, "agents/assistant/sessions/api-nouns", sessionId, "note.txt");
    await put(
      join(suite.gateway.home, "agents/assistant/sessions/api-nouns", sessionId),
      "note.txt",
      "shared words",
    );
    const share = await run<{ items: { share_id: string }[] }>(
      "shares",
      "create",
      "--agent",
      "assistant",
      ...chat,
      ...session,
      "--refs",
      shared,
      "--ttl",
      "60",
    );
    expect(await run("shares", "revoke", share.items[0]!.share_id)).toEqual({ revoked: true });

    expect(await run("models", "set", "assistant", "fake-model-2")).toEqual({ model: "fake-model-2" });
    expect(await run("sessions", "clear", "assistant", sessionId, ...chat)).toMatchObject({ cleared: true });
    expect(await run("sessions", "delete", "assistant", sessionId, ...chat)).toBeNull();

    const config = JSON.stringify({ command: "none-such", env: { K: "{token}" } });
    expect(await run("connectors", "add", "Notes", "--config", config)).toMatchObject({ id: "notes" });
    expect(await run("connectors", "list")).toHaveProperty("connectors.0.missing", ["token"]);
    const connect = await run("connectors", "connect", "notes", "--data", '{"token":"t"}');
    expect(connect).toEqual({ id: "notes", connected: true });
    expect(await run("connectors", "status", "notes")).toMatchObject({ connected: true });
    expect(await run("connectors", "update", "notes", "--label", "More")).toMatchObject({ id: "notes" });
    expect(await run("connectors", "test", "notes")).toMatchObject({ ok: false, tools: [] });
    expect(await run("connectors", "remove", "notes", "--remove", "true")).toMatchObject({
      connected: false,
    });

    const words = ["--prompt", "SAY tick", "--schedule", "@daily"];
    const { job } = await run<{ job: { id: string } }>("crons", "create", "assistant", "nouns", ...words);
    expect(await run("crons", "list")).toHaveProperty("jobs.0.id", job.id);
    expect(await run("crons", "status")).toMatchObject({ total: 1, enabled: 1 });
    expect(await run("crons", "update", job.id, "--no-enabled")).toMatchObject({ job: { enabled: false } });
    expect(await run("crons", "get", job.id)).toMatchObject({ job: { name: "nouns" } });
    expect(await run("crons", "run", job.id)).toMatchObject({ run: { status: "ok", output: "tick" } });
    expect(await run("crons", "runs", job.id)).toHaveProperty("runs.0.trigger", "manual");
    expect(await run("crons", "delete", job.id)).toEqual({ ok: true });

    // Those of channels need channels, those of packages an npm, incidents a stuck turn, a login a provider, and a screen a terminal: tests of their own have them.
    const elsewhere = [
      "channels",
      "connectors login",
      "devicechat",
      "incidents",
      "packages",
      "sessions screen",
    ];
    const declared = routeList.flatMap(({ cli: place }) =>
      place && !elsewhere.includes(place.noun) && !elsewhere.includes(`${place.noun} ${place.verb}`)
        ? [`${place.noun} ${place.verb}`]
        : [],
    );
    expect([...tried].sort()).toEqual(declared.sort());
  }, 120_000);

  it("takes a field by its flag in either spelling, as argument, or from --data [CLI-1, CLI-2]", async () => {
    const message = { response: "Echo[1]: hello" };
    const spellings: string[][] = [
      ["assistant", "hello", "--chat-id", "a"],
      ["--agent-id=assistant", "--message", "hello", "--chat_id=a"],
      ["--agent_id", "assistant", "hello", "--data", '{"chat_id": "a"}'],
      ["assistant", "--chat", "a", "--", "hello"],
    ];
    for (const args of spellings) expect(await value("messages", "send", ...args)).toMatchObject(message);
    const typed = await value(
      "messages",
      "send",
      "assistant",
      "hello",
      "--data",
      '{"chat_id": "b", "message": "other"}',
    );
    expect(typed).toMatchObject(message);
  });

  it("prints plain lines without a terminal and the reply's text alone", async () => {
    const list = await cli(["agents", "list"]);
    expect(list.stdout).toMatch(/^assistant\tassistant\tfirst\t/);
    const sent = await cli(["messages", "send", "assistant", "SAY just this", "--chat", "plain"]);
    expect(sent.stdout).toBe("just this\n");
    expect(sent.stderr).toMatch(/^\[session [0-9a-f-]{36}\]\n$/);
  });

  it("answers --version and --help for everything, and completes every noun", async () => {
    expect((await cli(["--version"])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    const help = await cli(["--help"]);
    expect(help.code).toBe(0);
    for (const { cli: place } of routeList) if (place) expect(help.stdout).toContain(place.noun);
    expect((await cli(["messages", "send", "--help"])).stdout).toContain("--timeout-ms");
    for (const shell of ["bash", "zsh", "fish"]) {
      const { code, stdout } = await cli(["completion", shell]);
      expect(code).toBe(0);
      for (const { cli: place } of routeList) if (place) expect(stdout).toContain(place.verb);
    }
  });
});

describe("api", () => {
  it("calls any route with any method, --data as body or query [CLI-3]", async () => {
    expect(await value("api", "get", "/health")).toEqual({ status: "ok" });
    const data = JSON.stringify({ chat_id: "raw", message: "SAY raw" });
    const sent = await value<{ session_id: string }>(
      "api",
      "POST",
      "api/v1/agents/assistant/messages",
      "--data",
      data,
    );
    expect(sent).toMatchObject({ response: "raw" });
    const sessions = "/api/v1/agents/assistant/sessions";
    const chat = ["--data", '{"chat_id": "raw"}'];
    expect(await value("api", "GET", sessions, ...chat)).toHaveProperty("sessions.0.id", sent.session_id);
    expect(await value("api", "DELETE", `${sessions}/${sent.session_id}`, ...chat)).toBeNull();
    const streamed = JSON.stringify({ chat_id: "raw", message: "SAY raw", stream: true });
    const result = await value("api", "POST", "/api/v1/agents/assistant/messages", "--data", streamed);
    expect(result).toMatchObject({ type: "result", text: "raw" });
  });
});

describe("files", () => {
  it("history goes out to a file and comes in again, from a file and from stdin", async () => {
    await cli(["messages", "send", "assistant", "SAY keep this", "--chat", "moved"]);
    const file = join(suite.folder, "history.ndjson");
    const out = await cli(["history", "export", "assistant", "--chat", "api-moved", "-o", file]);
    expect(`${out.code}${out.stdout}`).toBe("0");
    const text = await readFile(file, "utf8");
    expect(text.trimEnd().split("\n")).toHaveLength(2);
    expect(await value("history", "import", "second", file)).toEqual({
      imported: 2,
      skipped: 0,
      sessions: 1,
    });
    const again = await cli(["history", "import", "second", "-", "--json"], { input: text });
    expect(JSON.parse(again.stdout)).toEqual({ imported: 0, skipped: 2, sessions: 1 });
    const plain = await cli(["history", "export", "second", "--chat", "api-moved"]);
    const withoutSession = (lines: string) => lines.replace(/"sessionId":"[^"]+"/g, "");
    expect(withoutSession(plain.stdout)).toBe(withoutSession(text));
  });

  it("media is saved byte for byte", async () => {
    const image = await put(suite.folder, "exact.png", PNG);
    const { mediaPath } = await value<{ mediaPath: string }>("media", "upload", "assistant", image);
    const saved = join(suite.folder, "saved.png");
    expect(await value("media", "get", "assistant", mediaPath, "-o", saved)).toEqual({
      file: saved,
      bytes: PNG.length,
    });
    expect(await readFile(saved)).toEqual(PNG);
  });
});

describe("looking after the installation", () => {
  it("config check reports what is wrong and where [CLI-4]", async () => {
    const fine = await cli(["config", "check", "--json"]);
    expect(fine.code).toBe(0);
    const home = await mkdtemp(join(suite.folder, "home-"));
    const file = await put(
      home,
      "other.json",
      '{"agents": [{"id": "a", "botchat": {"botToken": "${NOT_SET_AT_ALL}"}}], "gatway": {}}',
    );
    const { code, stdout } = await cli(["config", "check", "--config", file, "--json"], {
      env: { GATEWAY_HOME: home },
    });
    expect(code).toBe(1);
    const { ok, problems } = JSON.parse(stdout);
    expect(ok).toBe(false);
    expect(problems).toContainEqual(
      expect.objectContaining({ level: "error", message: expect.stringContaining("NOT_SET_AT_ALL") }),
    );
    expect(problems).toContainEqual(expect.objectContaining({ level: "warning", path: "gatway" }));
    const missing = await cli(["config", "check"], { env: { GATEWAY_HOME: join(home, "nowhere") } });
    expect(missing.code).toBe(1);
    await expect(stat(join(home, "nowhere"))).rejects.toThrow();
  });

  it("doctor looks at port, permissions, agent CLI, keys, disk, clock, crash and database [CLI-4]", async () => {
    const program = await put(suite.folder, "agent-cli.sh", "#!/bin/sh\necho 9.8.7 test\n");
    await chmod(program, 0o755);
    const env = { AGENT_CLI_BIN: program, PORT: new URL(suite.gateway.url).port };
    const { code, stdout } = await cli(["doctor", "--json"], { env });
    const { checks } = JSON.parse(stdout) as { checks: { name: string; status: string; message: string }[] };
    expect(checks.filter(({ status }) => status === "fail")).toEqual([]);
    expect(code).toBe(0);
    const find = (name: string) => checks.find((check) => check.name === name)?.message;
    expect(find("port")).toContain("a gateway answers");
    expect(find("agent CLI")).toContain("9.8.7 test");
    for (const name of ["node", "home", "permissions", "keys", "disk", "clock", "last crash", "database"]) {
      expect(find(name), name).toBeDefined();
    }
  });

  it("doctor fails for a taken port, a broken database and a broken configuration, and says how to fix it [CLI-4]", async () => {
    const home = await mkdtemp(join(suite.folder, "ill-"));
    await put(
      home,
      "config.json",
      '{"gateway": {"api": {"keys": [{"key": "a-plain-key-of-some-length", "agents": "*"}]}}, "agents": [{"id": "BAD"}]}',
    );
    await put(home, "gateway.db", "not a database at all");
    const server = createServer();
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    const { port } = server.address() as { port: number };
    try {
      const { code, stdout, stderr } = await cli(["doctor", "--json"], {
        env: { GATEWAY_HOME: home, PORT: String(port) },
      });
      expect(code).toBe(1);
      expect(stderr).toMatch(/checks failed/);
      const { checks } = JSON.parse(stdout) as { checks: { name: string; status: string; fix?: string }[] };
      const failed = checks.filter(({ status }) => status === "fail");
      expect(new Set(failed.map(({ name }) => name))).toEqual(new Set(["config", "port", "database"]));
      for (const check of checks) expect(check.status === "ok" || check.fix).toBeTruthy();
      expect(checks).toContainEqual(expect.objectContaining({ name: "keys", status: "warn" }));
    } finally {
      server.close();
    }
  });

  it("doctor reports turns that a crash cut off [CLI-4]", async () => {
    await using crashed = await startGateway();
    const turn = crashed.send("HANG").catch(() => null);
    await until(async () => {
      const { body } = await crashed.json("GET", "/status");
      return JSON.stringify(body).includes('"busy":true');
    }, "the turn to run");
    await crashed.kill();
    await turn;
    const { stdout } = await cli(["doctor", "--json"], { env: { GATEWAY_HOME: crashed.home } });
    const { checks } = JSON.parse(stdout) as { checks: { name: string; message: string }[] };
    expect(checks.find(({ name }) => name === "last crash")?.message).toContain("1 turns were cut off");
  });
});
