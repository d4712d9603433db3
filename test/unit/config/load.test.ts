import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createPaths } from "../../../packages/gateway/src/config/index.ts";
import { type Loaded, loadConfig } from "../../../packages/gateway/src/config/load.ts";
import { isDeadKey } from "../../../packages/gateway/src/config/load-gateway.ts";
import { describe as line, type Problem } from "../../../packages/gateway/src/config/problems.ts";

const paths = createPaths({ GATEWAY_HOME: "/srv/gw" });
interface Sources {
  env?: Record<string, string>;
  homeEnv?: Record<string, string>;
  agentEnv?: Record<string, Record<string, string>>;
}

function tryLoad(raw: Record<string, unknown>, { env = {}, homeEnv = {}, agentEnv = {} }: Sources = {}) {
  return loadConfig(raw, { paths, env, homeEnv, agentEnv: new Map(Object.entries(agentEnv)) });
}

function load(raw: Record<string, unknown>, sources?: Sources): Loaded {
  const loaded = tryLoad(raw, sources);
  if (!loaded.config) throw new Error(loaded.problems.map(line).join("\n"));
  return loaded;
}
const says = (problems: readonly Problem[]) => problems.map(line).join("\n");

describe("the paths", () => {
  it("come from GATEWAY_HOME and GATEWAY_CONFIG, else ~/.agent-gateway", () => {
    expect(paths.configFile).toBe("/srv/gw/config.json");
    expect(paths.sessionDir("a", "api-me", "s")).toBe("/srv/gw/agents/a/sessions/api-me/s");
    expect(createPaths({ HOME: "/home/u", GATEWAY_HOME: "" }).home).toBe("/home/u/.agent-gateway");
    expect(createPaths({ HOME: "/home/u", GATEWAY_CONFIG: "~/c.json" }).configFile).toBe("/home/u/c.json");
  });
});

describe("the address of the store", () => {
  it("says what is wrong with it, and nothing of its password", () => {
    for (const url of ["postgres://u:50%off@h/d", "mysql://u:50off@h/d", "50off"]) {
      const env = { GATEWAY_STORE_URL: url };
      for (const { config, problems } of [tryLoad({}, { env }), tryLoad({ gateway: { store: { url } } })]) {
        expect(config, url).toBeNull();
        expect(says(problems), url).toMatch(/must be a postgres:\/\/ URL, .* percent-encoded/);
        expect(says(problems), url).not.toMatch(/50/);
      }
    }
    const { config } = load({}, { env: { GATEWAY_STORE_URL: "postgres://u:50%25off@h/d" } });
    expect(config.gateway.store.driver).toBe("postgres");
  });
});

describe("defaults", () => {
  it("are those of the configuration table", () => {
    const { config, problems } = load({});
    expect(problems).toEqual([]);
    expect(config.gateway).toMatchObject({
      timezone: "UTC",
      bind: "127.0.0.1",
      port: 10_850,
      headless: true,
      connectorsDefaultEnabled: true,
      selfHealing: { enabled: true, autoRecover: false },
      logs: { level: "info", maxFileBytes: 16_777_216, maxFiles: 3, retentionDays: 14 },
      history: { retentionDays: null, maxHistoryMessages: 50, cleanupHour: 3, cleanupTimezone: "UTC" },
      turns: { hardCapMs: 600_000, retainMs: 120_000, injectionMs: 60_000, keepaliveMs: 15_000 },
      media: { maxUploadBytes: 20 * 1024 * 1024 },
    });
    expect(config.session).toMatchObject({ idleTimeoutMinutes: 30, maxConcurrent: 20 });
  });

  it("never fill in over the gateway's values in an agent's overrides", () => {
    const { config } = load({
      gateway: { history: { retentionDays: 7, maxHistoryMessages: 9 } },
      session: { idleTimeoutMinutes: 5, maxConcurrent: 3 },
      agents: [{ id: "a", history: { retentionDays: null }, session: { maxConcurrent: 4 } }],
    });
    const [agent] = config.agents;
    expect(agent!.history).toMatchObject({ retentionDays: null, maxHistoryMessages: 9, cleanupHour: 3 });
    expect(agent!.session).toMatchObject({ idleTimeoutMinutes: 5, maxConcurrent: 4, warmSpares: 0 });
  });

  it("put the workspace below the home; ~ and relative paths are understood", () => {
    const { config } = load(
      { agents: [{ id: "a" }, { id: "b", workspace: "~/w" }, { id: "c", workspace: "w" }] },
      { env: { HOME: "/home/u" } },
    );
    expect(config.agents.map(({ workspace }) => workspace)).toEqual([
      join(paths.agentDir("a"), "workspace"),
      "/home/u/w",
      "/srv/gw/w",
    ]);
  });
});

describe("agents", () => {
  it("are skipped one by one when invalid, unresolvable or called like another [CONF-2]", () => {
    const { config, problems, skipped } = load(
      {
        agents: [
          { id: "good", botchat: { botToken: "${TOKEN}" } },
          { id: "Bad Id" },
          { id: "lost", botchat: { botToken: "${LOST_TOKEN}" } },
          { id: "good", name: "second" },
          "nonsense",
          { id: "odd", history: { cleanupHour: 24 } },
        ],
      },
      { agentEnv: { good: { TOKEN: "t" } } },
    );
    expect(config.agents.map(({ id, name }) => [id, name])).toEqual([["good", "good"]]);
    expect(config.agents[0]!.botchat).toMatchObject({ botToken: "t" });
    expect(skipped.size).toBe(5);
    const told = problems.map(line);
    expect(told).toContain(
      'agent "Bad Id" (agents[1]) is skipped: id must be a-z, then up to 31 of a-z 0-9 _ -',
    );
    expect(told).toContain(
      'agent "lost" (agents[2]) is skipped: botchat.botToken needs the variable LOST_TOKEN, which is not set',
    );
    expect(told).toContain('agent "good" (agents[3]) is skipped: another agent has this id');
    expect(told).toContainEqual(expect.stringMatching(/^the agent at agents\[4\] is skipped: /));
    expect(told).toContainEqual(
      expect.stringMatching(/^agent "odd" \(agents\[5\]\) is skipped: history\.cleanupHour: /),
    );
  });

  it("load without a channel's secret where it is empty, and with ids written as numbers [CH-CONFIG-12]", () => {
    const entry = {
      id: "a",
      botchat: { botToken: "" },
      sigchat: { channelSecret: "${EMPTY}", dmAllowlist: [7] },
      cloudchat: { phoneNumberId: 100200300, dmAllowlist: [4912345678] },
    };
    const { config } = load({ agents: [entry] }, { agentEnv: { a: { EMPTY: "" } } });
    expect(config.agents[0]).toMatchObject({
      sigchat: { channelSecret: "", dmAllowlist: ["7"] },
      cloudchat: { phoneNumberId: "100200300", dmAllowlist: ["4912345678"] },
    });
  });

  it("read the shell first, then their own .env, then the home's [CONF-1]", () => {
    const entry = { id: "a", env: { X: "${A}", Y: "${B}", Z: "${C}" } };
    const { config } = load(
      { agents: [entry] },
      {
        env: { A: "shell" },
        agentEnv: { a: { A: "own", B: "own" } },
        homeEnv: { A: "home", B: "home", C: "home" },
      },
    );
    expect(config.agents[0]!.env).toEqual({ X: "shell", Y: "own", Z: "home" });
  });

  it("do not lend their own .env to others or to the gateway", () => {
    const raw = { gateway: { timezone: "${A}" }, agents: [{ id: "a" }, { id: "b", description: "${A}" }] };
    const { config } = load(raw, { agentEnv: { a: { A: "Asia/Tokyo" } } });
    expect(config.agents.map(({ id }) => id)).toEqual(["a"]);
    expect(config.gateway.timezone).toBe("UTC");
  });
});

describe("the gateway's section", () => {
  it.each([
    ["gateway", { gateway: [] }],
    ["gateway.port", { gateway: { port: "x" } }],
    ["gateway.logs.level", { gateway: { logs: { level: "loud" } } }],
    ["gateway.api", { gateway: { api: 1 } }],
    ["gateway.api.keys.0", { gateway: { api: { keys: [{ agents: "*" }] } } }],
    ["gateway.api.keys", { gateway: { api: { keys: "x" } } }],
    ["session.maxConcurrent", { session: { maxConcurrent: 0 } }],
    ["agents", { agents: {} }],
  ])("is broken by a wrong %s", (path, raw) => {
    const loaded = tryLoad(raw);
    expect(loaded.config).toBeNull();
    expect(loaded.problems.map((problem) => problem.path)).toContain(path);
  });

  it("switches off an admin key with a list of agents, and it alone [KEY-1]", () => {
    const keys = [
      { key: "all", agents: "*", admin: true },
      { key: "list", agents: ["*"], admin: true },
      { key: "none", admin: true },
      { key: "plain", agents: ["a"] },
      { key: "wrong", agents: ["a"], admin: true },
      { key: "empty", agents: [], admin: true },
    ];
    const { config, problems } = load({ gateway: { api: { keys } }, agents: [{ id: "a" }] });
    expect(config.gateway.api.keys.map(isDeadKey)).toEqual([false, false, false, false, true, true]);
    expect(problems.map(({ level, path }) => [level, path])).toEqual([
      ["error", "gateway.api.keys.4"],
      ["error", "gateway.api.keys.5"],
    ]);
    expect(line(problems[0]!)).toMatch(/^gateway\.api\.keys\[4\]: .*admin.*agents/);
  });

  it("counts a key without its variable as configured, and no text opens it", () => {
    for (const env of [{}, { KEY: "" }]) {
      const key = { key: "${KEY}", agents: "*", admin: true };
      const { config, problems } = load({ gateway: { api: { keys: [key] } } }, { env } as Sources);
      expect(config.gateway.api.keys).toHaveLength(1);
      expect(isDeadKey(config.gateway.api.keys[0]!)).toBe(true);
      expect(config.gateway.api.keys[0]).toMatchObject({ agents: [] });
      expect(problems[0]).toMatchObject({ level: "warning", path: "gateway.api.keys.0" });
    }
  });

  it("resolves keys from the home's .env, and tells what must not be logged", () => {
    const { config, secrets } = load(
      {
        gateway: {
          api: {
            keys: [
              { key: "${KEY}", agents: "*" },
              { key: "literal-key", agents: [] },
            ],
          },
        },
      },
      { homeEnv: { KEY: "from-the-file" } },
    );
    expect(config.gateway.api.keys[0]!.key).toBe("from-the-file");
    expect([...secrets].sort()).toEqual(["from-the-file", "literal-key"]);
  });

  it("yields to GATEWAY_BIND and PORT; a PORT that is none is ignored [START-3]", () => {
    const raw = { gateway: { port: 1, bind: "127.0.0.1" } };
    const { config } = load(raw, { env: { PORT: "0", GATEWAY_BIND: "0.0.0.0" } });
    expect(config.gateway).toMatchObject({ port: 0, bind: "0.0.0.0" });
    const wrong = load(raw, { env: { PORT: "70000" } });
    expect(wrong.config.gateway.port).toBe(1);
    expect(says(wrong.problems)).toContain("PORT");
  });

  it.each([
    ["https://gw.example.com/gateway", true],
    ["https://gw.example.com/x/gateway", true],
    ["http://localhost:10850/gateway", true],
    ["http://[::1]:1/gateway", true],
    ["http://gw.example.com/gateway", false],
    ["https://gw.example.com/gateway/", false],
    ["https://gw.example.com/gateway?x=1", false],
    ["javascript:alert(1)//gateway", false],
    ["gw.example.com/gateway", false],
  ])("takes publicUrl %s: %s", (publicUrl, taken) => {
    const { config, problems } = load({ gateway: { publicUrl } });
    expect(config.gateway.publicUrl).toBe(taken ? publicUrl : undefined);
    expect(problems.map(({ path }) => path)).toEqual(taken ? [] : ["gateway.publicUrl"]);
  });

  it.each(["javascript:alert(1)", "data:text/html,x", "nonsense"])(
    "ignores oauthReturnUrl %s with a log",
    (url) => {
      const { config, problems } = load({ gateway: { oauthReturnUrl: url } });
      expect(config.gateway.oauthReturnUrl).toBeUndefined();
      expect(problems[0]!.path).toBe("gateway.oauthReturnUrl");
    },
  );
});

describe("unknown keys", () => {
  it("are warnings with their path [CONF-3]", () => {
    const { config, problems } = load({
      surprise: 1,
      gateway: { prot: 1, api: { keys: [{ key: "k", agents: "*", adnim: true }] }, logs: { x: 1 } },
      agents: [{ id: "a", modle: "m", runtime: { type: "starter", cmd: [] } }],
    });
    expect(config.agents).toHaveLength(1);
    expect(problems.every(({ level }) => level === "warning")).toBe(true);
    expect(problems.map(({ path }) => path)).toEqual([
      "surprise",
      "gateway.prot",
      "gateway.api.keys.0.adnim",
      "gateway.logs.x",
      "agents.0.modle",
      "agents.0.runtime.cmd",
    ]);
  });

  it("are none of the keys in the configuration table", () => {
    const { problems } = load({
      configVersion: "2.0.0",
      gateway: {
        timezone: "Asia/Bangkok",
        publicUrl: "https://x.example/gateway",
        oauthReturnUrl: "https://x.example/done",
        customConnectors: {
          crm: {
            label: "CRM",
            config: { url: "https://x", headers: { a: "{token}" } },
            secretNames: ["token"],
            credentialOwner: "static",
            defaultEnabled: false,
          },
        },
        connectorsDefaultEnabled: false,
        logs: { level: "debug", maxFileBytes: 1, maxFiles: 0, retentionDays: 0 },
        history: { retentionDays: 1, maxHistoryMessages: 0, cleanupHour: 0, cleanupTimezone: "UTC" },
        appBackup: { cleanupTimezone: "UTC" },
        skillLearning: { pruneTimezone: "UTC" },
        dreaming: { dreamTimezone: "UTC" },
        knowledge: { reflection: { timezone: "UTC" } },
        headless: false,
        selfHealing: { autoRecover: true },
        bind: "127.0.0.1",
        port: 1,
        models: [{ id: "m", name: "M", alias: "m", contextWindow: 1, multiplier: 1 }],
        api: {
          keys: [{ key: "k", description: "d", agents: ["*"], admin: true, write: true }],
          rateLimit: { perSecond: 1, burst: 1 },
        },
        turns: { hardCapMs: 1, retainMs: 1, injectionMs: 1, keepaliveMs: 1 },
        media: { maxUploadBytes: 1 },
        orchestration: { enabled: true },
        appHousekeeping: { buildCachePrune: true, buildCacheMaxAgeHours: 1, danglingImagePrune: true },
      },
      session: { idleTimeoutMinutes: 1, maxConcurrent: 1, warmSpares: 1 },
      agents: [
        {
          id: "a",
          history: { retentionDays: 1, maxHistoryMessages: 1, cleanupHour: 1, cleanupTimezone: "UTC" },
          session: {},
          connectors: { crm: { enabled: true } },
          devicechat: { accounts: [{ id: "x" }] },
          voice: { enabled: false, tts: { voiceId: "" } },
        },
      ],
    });
    expect(problems).toEqual([]);
  });
});

describe("time zones", () => {
  it("are the feature's own, else gateway.timezone, else UTC [CONF-8]", () => {
    const { gateway } = load({
      gateway: {
        timezone: "Asia/Bangkok",
        history: { cleanupTimezone: "Europe/Berlin" },
        appBackup: { cleanupTimezone: "Mars/Base" },
        skillLearning: { pruneTimezone: 7 },
        dreaming: {},
      },
    }).config;
    expect(gateway.history.cleanupTimezone).toBe("Europe/Berlin");
    expect(gateway.appBackup.cleanupTimezone).toBe("Asia/Bangkok");
    expect(gateway.skillLearning.pruneTimezone).toBe("Asia/Bangkok");
    expect(gateway.dreaming.dreamTimezone).toBe("Asia/Bangkok");
    expect(gateway.knowledge.reflection.timezone).toBe("Asia/Bangkok");
  });

  it("fall back to UTC with a warning when gateway.timezone is invalid", () => {
    const { config, problems } = load({ gateway: { timezone: "Nowhere/At_All" } });
    expect(config.gateway.timezone).toBe("UTC");
    expect(problems.map(({ path }) => path)).toEqual(["gateway.timezone"]);
  });

  it("of an agent fall through to the gateway's", () => {
    const { config } = load({
      gateway: { timezone: "Asia/Tokyo" },
      agents: [
        { id: "a", history: { cleanupTimezone: "Europe/Paris" } },
        { id: "b", history: { cleanupTimezone: "x" } },
        { id: "c" },
      ],
    });
    expect(config.agents.map(({ history }) => history.cleanupTimezone)).toEqual([
      "Europe/Paris",
      "Asia/Tokyo",
      "Asia/Tokyo",
    ]);
  });
});
