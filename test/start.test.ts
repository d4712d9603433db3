import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join, relative } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { alive, bin, KEYS, put, testConfig, until } from "./harness.ts";
import { LISTENING, ownFolder, runProgram, startBin } from "./program.ts";

const VERSION = /^\d+\.\d+\.\d+/;
const exists = (path: string) =>
  stat(path).then(
    () => true,
    () => false,
  );

/** Every file below a folder with its size and time, except what lies in `except`. */
async function tree(folder: string, except: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.map((entry) => relative(folder, join(entry.parentPath, entry.name)));
  const outside = paths.filter((path) => path !== except && !path.startsWith(`${except}/`)).sort();
  return Promise.all(
    outside.map(async (path) => {
      const { size, mtimeMs } = await stat(join(folder, path));
      return `${path} ${size} ${mtimeMs}`;
    }),
  );
}

const ask = async (url: string, message: string, key: string) => {
  const response = await fetch(`${url}/api/v1/agents/assistant/messages`, {
    method: "POST",
    headers: { "x-api-key": key, "content-type": "application/json" },
    body: JSON.stringify({ message, chat_id: "me" }),
  });
  return (await response.json()) as Record<string, unknown>;
};

describe("the first run", () => {
  it("writes a configuration and a key, and prints address, key and a curl line that works [START-4, START-6]", async () => {
    const home = join(await ownFolder(), "new/home");
    // Without the programs of this machine, so that no real agent answers.
    const gateway = startBin(home, { env: { PATH: "/nowhere" } });
    const [, curl] = await gateway.says(/^ *(curl -s .*)$/m);
    const stdout = gateway.stdout();
    const listening = stdout.split("\n").filter((line) => line.includes("gateway listening on"));
    expect(listening).toHaveLength(1);
    const url = LISTENING.exec(stdout)![1]!;
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(stdout).toContain(`${url}/dashboard`);

    const config = await readFile(join(home, "config.json"), "utf8");
    expect(JSON.parse(config)).toMatchObject({
      configVersion: "2.0.0",
      gateway: { api: { keys: [{ key: "${GATEWAY_ADMIN_KEY}", agents: "*", admin: true }] } },
      agents: [{ id: "assistant", runtime: { type: "auto" } }],
    });
    const [, key] = /^GATEWAY_ADMIN_KEY=(\S+)$/m.exec(await readFile(join(home, ".env"), "utf8"))!;
    expect((await stat(join(home, ".env"))).mode & 0o777).toBe(0o600);
    expect((await stat(home)).mode & 0o777).toBe(0o700);
    expect(config).not.toContain(key);
    expect(stdout).toContain(key);

    const pasted = await runProgram(["sh", "-c", curl!]);
    expect([pasted.code, pasted.stderr]).toEqual([0, ""]);
    const reply = JSON.parse(pasted.stdout) as Record<string, unknown>;
    expect(reply).toMatchObject({ agent_id: "assistant", response: expect.any(String) });
    expect((await fetch(`${url}/dashboard`, { headers: { "x-api-key": key! } })).status).toBe(200);

    gateway.process.kill("SIGTERM");
    expect(await gateway.ended).toBe(0);
    const logs = await readdir(join(home, "logs"));
    expect(logs).toContain("gateway.log");
    for (const name of logs) expect(await readFile(join(home, "logs", name), "utf8")).not.toContain(key);

    const again = startBin(home, { env: { PATH: "/nowhere" } });
    await again.says(/runs on/);
    expect(again.stdout()).not.toContain(key);
    expect(await readFile(join(home, "config.json"), "utf8")).toBe(config);
  });

  it("takes the admin key from the environment and stores it nowhere [START-6]", async () => {
    const home = await ownFolder();
    const env = { GATEWAY_ADMIN_KEY: "key-of-the-environment" };
    const gateway = startBin(home, { env: { ...env, PATH: "/nowhere" } });
    const [, curl] = await gateway.says(/^ *(curl -s .*)$/m);
    expect(gateway.stdout()).not.toContain(env.GATEWAY_ADMIN_KEY);
    const pasted = await runProgram(["sh", "-c", curl!], { env });
    expect(JSON.parse(pasted.stdout)).toMatchObject({ agent_id: "assistant" });
    expect(await exists(join(home, ".env"))).toBe(false);
  });
});

describe("where things are", () => {
  it("is $HOME/.agent-gateway unless GATEWAY_HOME says otherwise, and nothing outside is written [START-3, START-7]", async () => {
    const root = await ownFolder();
    for (const folder of ["user/.config", "work", "temp"]) await put(root, `${folder}/kept`, "kept");
    const workspace = join(root, "user/.agent-gateway/agents/assistant/workspace");
    const config = testConfig({ gateway: { port: 0 } });
    await put(root, "user/.agent-gateway/config.json", JSON.stringify(config));
    const before = await tree(root, "user/.agent-gateway");
    const env = {
      HOME: join(root, "user"),
      TMPDIR: join(root, "temp"),
      GATEWAY_HOME: undefined,
      PORT: undefined,
      XDG_CACHE_HOME: undefined,
    };
    const gateway = startBin("", { env, cwd: join(root, "work") });
    const url = (await gateway.says(LISTENING))[1]!;
    expect(await ask(url, "CWD", KEYS.plain)).toMatchObject({ response: workspace });
    const upload = await fetch(`${url}/api/v1/agents/assistant/media`, {
      method: "POST",
      headers: { "x-api-key": KEYS.plain, "content-type": "application/pdf" },
      body: "%PDF-1.7\n",
    });
    expect(upload.status).toBe(200);
    gateway.process.kill("SIGTERM");
    expect(await gateway.ended).toBe(0);
    expect(await exists(join(root, "user/.agent-gateway/gateway.db"))).toBe(true);
    expect(await tree(root, "user/.agent-gateway")).toEqual(before);
  });

  it("keeps the compiled code of one start for the next one [START-11]", async () => {
    const home = await ownFolder();
    const round = async (env = {}) => {
      const gateway = startBin(home, { env });
      await gateway.says(LISTENING);
      gateway.process.kill("SIGTERM");
      expect(await gateway.ended).toBe(0);
      return gateway.stderr();
    };
    await round();
    const said = await round({ NODE_DEBUG_NATIVE: "COMPILE_CACHE" });
    expect(said).toMatch(/code cache for ESM file:\S+serve\.js was accepted/);
  });

  it("GATEWAY_CONFIG, --config, PORT, --port and GATEWAY_BIND win over the file [START-3]", async () => {
    const home = await ownFolder();
    const elsewhere = await ownFolder();
    const config = testConfig({ gateway: { port: 1, bind: "203.0.113.1" } });
    const file = await put(elsewhere, "my.json", JSON.stringify(config));
    const env = { GATEWAY_CONFIG: file, GATEWAY_BIND: "localhost" };
    const gateway = startBin(home, { env });
    const url = (await gateway.says(LISTENING))[1]!;
    expect(url).toMatch(/^http:\/\/localhost:[1-9]\d+$/);
    expect(await ask(url, "hi", KEYS.plain)).toMatchObject({ agent_id: "assistant" });
    expect(await exists(join(home, "config.json"))).toBe(false);
    const port = new URL(url).port;
    gateway.process.kill("SIGINT");
    expect(await gateway.ended).toBe(0);
    const args = ["--config", file, "--port", port];
    const again = startBin(home, { args, env: { PORT: "1", GATEWAY_BIND: "127.0.0.1" } });
    expect((await again.says(LISTENING))[1]).toBe(`http://127.0.0.1:${port}`);
  });
});

describe("what prevents a start", () => {
  it("wrong arguments end with 2 and the usage, and touch nothing", async () => {
    const home = join(await ownFolder(), "home");
    for (const args of [["--bogus"], ["extra"], ["--port", "abc"], ["--port", "70000"], ["--config"]]) {
      const gateway = startBin(home, { args });
      expect(await gateway.ended, args.join(" ")).toBe(2);
      expect(gateway.stderr()).toMatch(/Usage: agent-gateway start \[--config FILE\] \[--port N\]\n$/);
      expect(gateway.stderr()).not.toMatch(/\n {4}at /);
      expect(gateway.stdout()).toBe("");
    }
    expect(await exists(home)).toBe(false);
  });

  it("a port in use ends with 1 and one sentence that names it", async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as { port: number };
    const home = await ownFolder();
    const gateway = startBin(home, { args: ["--port", String(port)] });
    expect(await gateway.ended).toBe(1);
    expect(gateway.stderr()).toBe(
      `Port ${port} on 127.0.0.1 is in use; choose another with --port, PORT or gateway.port.\n`,
    );
    expect(gateway.stdout()).not.toContain("listening");
    expect(await exists(join(home, "run/gateway.json"))).toBe(false);
  });

  it("a gateway that runs on the same home, until it is gone in any way", async () => {
    const home = await ownFolder();
    await writeFile(join(home, "config.json"), JSON.stringify(testConfig()), { mode: 0o600 });
    const holder = async () =>
      JSON.parse(await readFile(join(home, "run/gateway.json"), "utf8")) as Record<string, unknown>;
    const first = startBin(home);
    await first.says(LISTENING);
    expect(await holder()).toEqual({ pid: first.process.pid, startedAt: expect.any(Number) });
    const second = startBin(home);
    expect(await second.ended).toBe(1);
    expect(second.stderr()).toBe(
      `Another gateway (process ${first.process.pid}) already runs with this home (${home}); ` +
        "stop it, or set GATEWAY_HOME to another folder.\n",
    );
    expect(second.stdout()).toBe("");

    first.process.kill("SIGKILL");
    await first.ended;
    expect(await holder()).toMatchObject({ pid: first.process.pid });
    const third = startBin(home);
    await third.says(LISTENING);
    expect(await holder()).toMatchObject({ pid: third.process.pid });
    third.process.kill("SIGTERM");
    expect(await third.ended).toBe(0);
    expect(await exists(join(home, "run/gateway.json"))).toBe(false);
  });

  it("lets exactly one of several that start at once through, which shows the new key", async () => {
    const home = join(await ownFolder(), "home");
    const starts = Array.from({ length: 4 }, () => startBin(home));
    const isOver = (start: (typeof starts)[number]) => start.process.exitCode !== null;
    await until(() => starts.filter(isOver).length === 3, "three refusals", 20_000);
    const [winner, ...rest] = starts.filter((start) => !isOver(start));
    expect(rest).toEqual([]);
    await winner!.says(/^ *curl -s .*gk_/m);
    const refused = starts.filter((start) => start !== winner);
    expect(await Promise.all(refused.map(({ ended }) => ended))).toEqual([1, 1, 1]);
    for (const { stderr } of refused) expect(stderr()).toMatch(/^Another gateway .*\n$/);
  });
});

describe("the end", () => {
  it("comes by SIGINT within 5 s, with 0 and the children gone [START-5]", async () => {
    const home = await ownFolder();
    await writeFile(join(home, "config.json"), JSON.stringify(testConfig()), { mode: 0o600 });
    const gateway = startBin(home);
    const url = (await gateway.says(LISTENING))[1]!;
    const pid = Number((await ask(url, "PID", KEYS.plain)).response);
    expect(alive(pid)).toBe(true);
    const running = ask(url, "SLOW 1000 20", KEYS.plain).catch(() => ({}));
    const headers = { "x-api-key": KEYS.admin };
    await until(async () => {
      const status = (await (await fetch(`${url}/status`, { headers })).json()) as {
        agents: Array<{ sessions: Array<{ busy: boolean }> }>;
      };
      return status.agents[0]!.sessions.some(({ busy }) => busy);
    }, "a running turn");
    const asked = performance.now();
    gateway.process.kill("SIGINT");
    expect(await gateway.ended).toBe(0);
    expect(performance.now() - asked).toBeLessThan(5_000);
    await running;
    await until(() => !alive(pid), "the agent's process to be gone");
  });
});

describe("a stop during the start", () => {
  it("ends with 0 and without an error, whenever it comes [START-5]", async () => {
    for (const step of ["run/gateway.lock", "logs", "gateway.db", "run/children"]) {
      const home = await ownFolder();
      await writeFile(join(home, "config.json"), JSON.stringify(testConfig()), { mode: 0o600 });
      const gateway = startBin(home);
      await until(() => exists(join(home, step)), step, 20_000);
      gateway.process.kill("SIGTERM");
      expect(await gateway.ended).toBe(0);
      expect(gateway.stderr()).toBe("");
    }
  });
});

describe("the version", () => {
  it("is printed on stdout only [START-2]", async () => {
    const { code, stdout, stderr } = await runProgram([process.execPath, bin, "--version"]);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(VERSION);
  });
});
