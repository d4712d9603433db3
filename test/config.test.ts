import { chmod, mkdir, readdir, readFile, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runCli } from "./fixtures/cli.ts";
import { type Gateway, type GatewayOptions, KEYS, put, startGateway, testConfig, until } from "./harness.ts";
import { LISTENING, ownFolder, startBin } from "./program.ts";

type Json = Record<string, unknown>;
type File = { gateway: Json; session?: Json; agents: Json[] } & Json;
const base = (options?: GatewayOptions) => testConfig(options) as File;
const codes = async (gateway: Gateway, key: string) =>
  (await gateway.request("GET", "/api/v1/agents", { key })).status;
const list = async (gateway: Gateway) =>
  (await gateway.json("GET", "/api/v1/agents")).body.agents as Array<Json & { id: string }>;
/** A gateway on a home with these files. */
async function startWith(config: unknown, files: Record<string, string> = {}, env = {}): Promise<Gateway> {
  const home = await ownFolder();
  for (const [name, text] of Object.entries(files)) await chmod(await put(home, name, text), 0o600);
  return startGateway({ home, config, env });
}
/** Changes the file and waits until the gateway has taken the change over. */
async function rewrite(gateway: Gateway, change: (config: File) => void, from?: File): Promise<void> {
  const config = from ?? ((await gateway.config()) as File);
  change(config);
  const reloads = () => gateway.output().split("configuration: reloaded").length;
  const before = reloads();
  await gateway.writeConfig(config);
  await until(() => reloads() > before, "the reload");
}

describe("variables", () => {
  it("come from the shell, the agent's .env, then the home's, in every string [CONF-1]", async () => {
    const config = base({
      agent: {
        description: "from ${HOME_ONLY}",
        env: { EVERY: "${SHELL}-${AGENT}-${HOME_ONLY}", QUOTED: "${QUOTED}", PLAIN: "$AGENT ${} $${" },
      },
    });
    (config.gateway.api as { keys: Json[] }).keys.push({ key: "${A_KEY}", agents: "*" });
    await using gateway = await startWith(
      config,
      {
        ".env": "# a comment\n\nSHELL=home\nAGENT=home\nHOME_ONLY=home\nexport A_KEY=key-of-the-home\n",
        "agents/assistant/.env": "SHELL=agent\nAGENT=agent\nQUOTED=\"a 'b' c\"\nnonsense\n",
      },
      { SHELL: "shell" },
    );
    const env = async (name: string) => (await gateway.send(`ENV ${name}`)).body.response;
    expect(await env("EVERY")).toBe("EVERY=shell-agent-home");
    expect(await env("QUOTED")).toBe("QUOTED=a 'b' c");
    expect(await env("PLAIN")).toBe("PLAIN=$AGENT ${} $${");
    expect((await list(gateway))[0]!.description).toBe("from home");
    expect(await codes(gateway, "key-of-the-home")).toBe(200);
    expect(await codes(gateway, "${A_KEY}")).toBe(403);

    await put(gateway.home, "agents/assistant/.env", "AGENT=changed\nQUOTED=q\n");
    await rewrite(gateway, (file) => Object.assign(file, { touched: true }));
    expect(await env("EVERY")).toBe("EVERY=shell-changed-home");
    expect(gateway.output()).not.toContain("key-of-the-home");
  });
});

describe("an admin key with a list of agents", () => {
  it("is switched off and named, at start, at a reload and by the checks; the others go on [KEY-1]", async () => {
    const config = base();
    const keys = [
      { key: KEYS.admin, agents: "*", admin: true },
      { key: KEYS.plain, agents: ["assistant"] },
      { key: "limited-admin-key", agents: ["assistant"], admin: true },
      { key: "good-admin-key", agents: ["*"], admin: true },
    ];
    (config as unknown as { gateway: { api: { keys: unknown } } }).gateway.api.keys = keys;
    await using gateway = await startWith(config);
    expect(gateway.output()).toContain("gateway.api.keys[2]: an admin key reaches every agent");
    expect(await codes(gateway, "limited-admin-key")).toBe(403);
    for (const key of [KEYS.admin, KEYS.plain, "good-admin-key"]) expect(await codes(gateway, key)).toBe(200);
    for (const command of [["config", "check"], ["doctor"]]) {
      const { code, stdout } = await runCli(command, { env: { GATEWAY_HOME: gateway.home } });
      expect(code).toBe(1);
      expect(stdout).toContain("gateway.api.keys[2]: an admin key reaches every agent");
    }

    await rewrite(gateway, (file) => {
      const api = (file as unknown as { gateway: { api: { keys: { agents: unknown }[] } } }).gateway.api;
      api.keys[2]!.agents = "*";
      api.keys[3]!.agents = ["assistant"];
    });
    expect(await codes(gateway, "limited-admin-key")).toBe(200);
    expect(await codes(gateway, "good-admin-key")).toBe(403);
    expect(gateway.output()).toContain("gateway.api.keys[3]: an admin key reaches every agent");
  });
});

describe("a wrong entry", () => {
  it("of an agent is skipped and named, the others start [CONF-2]", async () => {
    const config = base();
    config.agents.push(
      { id: "tokenless", botchat: { botToken: "${NOWHERE_TO_BE_FOUND}" } },
      { id: "Bad Id" },
      { id: "second", description: "twice" },
      { id: "wrong", runtime: { type: "no-such-runtime" } },
      { id: "good", runtime: { type: "starter" } },
    );
    await using gateway = await startWith(config);
    expect((await list(gateway)).map(({ id }) => id)).toEqual(["assistant", "second", "good"]);
    expect((await list(gateway))[1]!.description).toBe("second");
    const missing = await gateway.json("GET", "/api/v1/agents/tokenless");
    expect([missing.status, missing.body.code]).toEqual([404, "AGENT_NOT_FOUND"]);
    for (const word of [
      "NOWHERE_TO_BE_FOUND",
      'agent "tokenless" (agents[2]) is skipped: botchat.botToken',
      'agent "Bad Id" (agents[3]) is skipped: id must',
      'agent "second" (agents[4]) is skipped: another agent has this id',
      'agent "wrong" (agents[5]) is skipped: runtime.type',
    ]) {
      expect(gateway.output()).toContain(word);
    }
    // The rest of its entry is mended and its variable set: it starts without a restart.
    await put(gateway.home, ".env", "NOWHERE_TO_BE_FOUND=here\n");
    await rewrite(gateway, ({ agents }) =>
      Object.assign(agents[3]!, { id: "mended", runtime: { type: "starter" } }),
    );
    expect((await list(gateway)).map(({ id }) => id)).toEqual([
      "assistant",
      "second",
      "tokenless",
      "mended",
      "good",
    ]);
  });

  it("that the gateway does not know is a warning and stays in the file [CONF-3, CONF-7]", async () => {
    const config = {
      $comment: "mine",
      ...base({ gateway: { shiny: { new: true } }, agent: { pet: "cat" } }),
    };
    await using gateway = await startWith(config);
    for (const word of ["$comment", "gateway.shiny", "agents.0.pet"])
      expect(gateway.output()).toContain(word);
    const file = join(gateway.home, "config.json");
    await writeFile(file, JSON.stringify(config, null, "\t"));
    const before = await readFile(file, "utf8");

    // While the file is written again and again, every reader finds one whole text.
    let writing = true;
    const reader = (async () => {
      while (writing) JSON.parse(await readFile(file, "utf8"));
    })();
    const names = Array.from({ length: 20 }, (_, index) => `name ${index}`);
    const answers = await Promise.all(
      names.map((name) => gateway.json("PATCH", "/api/v1/agents/second", { body: { name } })),
    );
    writing = false;
    await reader;
    expect(answers.map(({ status }) => status)).toEqual(names.map(() => 200));
    expect((await gateway.json("PATCH", "/api/v1/agents/second", { body: { name: "last" } })).status).toBe(
      200,
    );

    const after = await readFile(file, "utf8");
    expect(JSON.parse(after)).toEqual({
      ...config,
      agents: [config.agents[0], { ...config.agents[1], name: "last" }],
    });
    const added = after.split("\n").filter((line) => !before.split("\n").includes(line));
    expect(added.every((line) => /^\t\t\t/.test(line) && /name|"second"|\]|\}/.test(line))).toBe(true);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await readdir(gateway.home)).filter((name) => name.endsWith(".tmp"))).toEqual([]);
  });
});

describe("a broken file", () => {
  const broken = {
    "no JSON": '{ "gateway": { "api": {} ',
    "a wrong gateway section": JSON.stringify({ ...base(), gateway: { port: "many" } }),
  };

  it.each(Object.entries(broken))(
    "(%s) falls back to the last good one, loudly, and can be mended [CONF-4]",
    async (_, text) => {
      const home = await ownFolder();
      const first = await startGateway({ home, config: base() });
      expect(await first.stop()).toBe(0);
      await put(home, "config.json", text);
      await using gateway = await startGateway({ home });
      expect(gateway.output()).toContain("THE CONFIGURATION FILE IS BROKEN");
      expect((await gateway.send("hi")).status).toBe(200);
      expect(await readFile(join(home, "config.json"), "utf8")).toBe(text);
      const refused = await gateway.json("PATCH", "/api/v1/agents/assistant", { body: { name: "x" } });
      expect([refused.status, refused.body.code]).toEqual([409, "CONFLICT"]);
      await gateway.writeConfig({ ...base(), agents: [{ id: "mended", runtime: { type: "starter" } }] });
      await until(async () => (await list(gateway))[0]!.id === "mended", "the mended file");
    },
  );

  it.each(Object.entries(broken))(
    "(%s) ends with 78 and the reason when there was none [CONF-4]",
    async (_, text) => {
      const home = await ownFolder();
      await put(home, "config.json", text);
      const gateway = startBin(home);
      expect(await gateway.ended).toBe(78);
      expect(gateway.stderr()).toMatch(
        /^The configuration cannot be used: .*(not valid JSON|gateway\.port).*\n$/,
      );
      expect(gateway.stdout()).not.toContain("listening");
    },
  );
});

describe("a reload", () => {
  it("of a broken file changes nothing; of a good one applies at once [CONF-5]", async () => {
    await using gateway = await startWith(base());
    await writeFile(join(gateway.home, "config.json"), "{ oops");
    await until(() => gateway.output().includes("the running configuration stays"), "the complaint");
    expect((await gateway.send("hi")).status).toBe(200);

    await rewrite(
      gateway,
      (config) => {
        const { keys } = config.gateway.api as { keys: Json[] };
        keys.splice(1, 1, { key: "brand-new-key-0006", agents: ["third"], write: true });
        config.agents.splice(1, 1, { id: "third", runtime: { type: "starter" } });
        config.gateway.models = [{ id: "m1", name: "M", alias: "m", contextWindow: 1000, multiplier: 1 }];
        config.gateway.logs = { level: "debug" };
        config.gateway.publicUrl = "https://agents.example.org/gateway";
      },
      base(),
    );
    expect(await codes(gateway, KEYS.write)).toBe(403);
    expect(await codes(gateway, "brand-new-key-0006")).toBe(200);
    expect((await list(gateway)).map(({ id }) => id)).toEqual(["assistant", "third"]);
    expect((await gateway.json("GET", "/api/v1/models")).body.models).toHaveLength(1);
    const { status } = await gateway.json("POST", "/api/v1/agents/third/messages", {
      key: "brand-new-key-0006",
      body: { message: "hi", chat_id: "me" },
    });
    expect(status).toBe(200);
    expect(gateway.output()).toContain("gateway.publicUrl has changed; it applies after a restart");
  });

  it("applies to sessions: their number and their history [CONF-5]", async () => {
    await using gateway = await startWith(base({ session: { maxConcurrent: 1 } }));
    const hang = gateway.request("POST", "/api/v1/agents/assistant/messages", {
      body: { message: "HANG", chat_id: "busy", stream: true },
    });
    const stream = await hang;
    const full = await gateway.send("hi", { chat_id: "second" });
    expect([full.status, full.body.code]).toEqual([503, "CAPACITY"]);
    await rewrite(gateway, (config) => {
      config.session = { maxConcurrent: 2 };
      config.gateway.history = { maxHistoryMessages: 0 };
    });
    const next = await gateway.send("hi", { chat_id: "second" });
    expect(next.status).toBe(200);
    const id = next.body.session_id as string;
    await gateway.json("POST", `/api/v1/agents/assistant/sessions/${id}/restart`, {
      body: { chat_id: "second" },
    });
    const again = await gateway.send("HISTORY", { chat_id: "second", session_id: id });
    expect(again.body.response).not.toContain("hi");
    await stream.body?.cancel();
  });
});

describe("an older file", () => {
  it("is migrated with a backup, and keeps listening everywhere when it is older than 1.0.13 [CONF-6]", async () => {
    const home = await ownFolder();
    const old = `${JSON.stringify({ ...base(), configVersion: "1.0.12" }, null, 4)}\n`;
    await chmod(await put(home, "config.json", old), 0o600);
    const gateway = startBin(home);
    expect((await gateway.says(LISTENING))[1]).toMatch(/^http:\/\/0\.0\.0\.0:\d+$/);
    expect(await readFile(join(home, "config.json.bak-1.0.12"), "utf8")).toBe(old);
    const text = await readFile(join(home, "config.json"), "utf8");
    expect(text.split("\n")[1]).toMatch(/^ {4}"configVersion": "2\.0\.0",$/);
    expect(JSON.parse(text)).toEqual({
      ...base(),
      configVersion: "2.0.0",
      gateway: { ...base().gateway, bind: "0.0.0.0" },
    });
  });

  it("of 1.0.13 is not opened to others [CONF-6]", async () => {
    const home = await ownFolder();
    await put(home, "config.json", JSON.stringify({ ...base(), configVersion: "1.0.13" }));
    const gateway = startBin(home);
    expect((await gateway.says(LISTENING))[1]).toContain("http://127.0.0.1:");
    expect(JSON.parse(await readFile(join(home, "config.json"), "utf8"))).toEqual(base());
  });
});

describe("time zones", () => {
  it("that are wrong fall through to gateway.timezone, then to UTC, and say so [CONF-8]", async () => {
    await using gateway = await startWith(
      base({
        gateway: {
          timezone: "Mars/Olympus",
          history: { cleanupTimezone: "Moon/Base" },
          dreaming: { dreamTimezone: "Asia/Tokyo" },
        },
      }),
    );
    expect(gateway.output()).toContain("gateway.timezone: is not a known time zone; using UTC");
    expect(gateway.output()).toContain(
      "gateway.history.cleanupTimezone: is not a known time zone; using gateway.timezone",
    );
    expect(gateway.output()).not.toContain("dreamTimezone");
  });
});

describe("logs", () => {
  const logs = (gateway: Gateway) => readdir(join(gateway.home, "logs"));

  it("have a level, are rotated by size and kept by number, all without a restart [CONF-9]", async () => {
    await using gateway = await startWith(base({ gateway: { logs: { level: "error" } } }));
    const noise = async (from: number, to: number) => {
      for (let n = from; n < to; n++) {
        const before = gateway.output().length;
        await writeFile(join(gateway.home, "config.json"), `{ "broken": ${n}`);
        await until(
          () => gateway.output().includes("the running configuration stays", before),
          `complaint ${n}`,
        );
      }
    };
    expect(gateway.output()).not.toMatch(/ (info|warn|debug) /);
    await gateway.writeConfig(
      base({ gateway: { logs: { level: "debug", maxFileBytes: 700, maxFiles: 2 } } }),
    );
    await until(() => gateway.output().includes(" info "), "a line of a lower level");
    await noise(0, 16);
    await until(async () => (await logs(gateway)).includes("gateway.log.2"), "two generations");
    for (const name of await logs(gateway)) {
      const { size, mode } = await stat(join(gateway.home, "logs", name));
      expect(size, name).toBeLessThanOrEqual(700);
      expect(mode & 0o777).toBe(0o600);
    }
    expect((await logs(gateway)).filter((name) => name.startsWith("gateway.log")).sort()).toEqual([
      "gateway.log",
      "gateway.log.1",
      "gateway.log.2",
    ]);
  });

  it("are deleted when they are older than retentionDays, never with 0 [CONF-9]", async () => {
    const home = await ownFolder();
    await mkdir(join(home, "logs"));
    const age = async (name: string, days: number) => {
      const file = await put(home, `logs/${name}`, "line\n");
      await utimes(file, new Date(), new Date(Date.now() - days * 86_400_000));
    };
    await age("other.log", 4);
    await age("other.log.1", 2);
    await age("notes.txt", 400);
    const config = (retentionDays: number) => base({ gateway: { logs: { retentionDays } } });
    await using gateway = await startGateway({ home, config: config(0) });
    expect(await logs(gateway)).toEqual(expect.arrayContaining(["notes.txt", "other.log", "other.log.1"]));
    await gateway.writeConfig(config(3));
    await until(async () => !(await logs(gateway)).includes("other.log"), "the old log to go");
    expect(await logs(gateway)).toEqual(expect.arrayContaining(["notes.txt", "other.log.1"]));
  });
});

describe("secrets that everybody can read", () => {
  it("forbid a start on an address that others reach, with the fix [CONF-10]", async () => {
    const home = await ownFolder();
    const config = base({
      gateway: { bind: "0.0.0.0", api: { keys: [{ key: "${K}", agents: "*", admin: true }] } },
    });
    await put(home, "config.json", JSON.stringify(config));
    const file = await put(home, ".env", "K=k\n");
    await chmod(file, 0o644);
    const gateway = startBin(home);
    expect(await gateway.ended).toBe(78);
    expect(gateway.stderr()).toContain(`chmod 600 '${file}'`);
    expect(gateway.stdout()).not.toContain("listening");

    const onLoopback = startBin(home, { env: { GATEWAY_BIND: "127.0.0.1" } });
    await onLoopback.says(LISTENING);
    expect(onLoopback.stdout()).toContain("chmod 600");
    onLoopback.process.kill("SIGTERM");
    await onLoopback.ended;

    await chmod(file, 0o600);
    await startBin(home).says(LISTENING);
  });
});
