import { describe, expect, it } from "vitest";
import { createPaths } from "../../../packages/gateway/src/config/index.ts";
import { loadConfig } from "../../../packages/gateway/src/config/load.ts";

const paths = createPaths({ GATEWAY_HOME: "/srv/gw" });
const load = (raw: Record<string, unknown>) =>
  loadConfig(raw, { paths, env: {}, homeEnv: {}, agentEnv: new Map() });

/** An object with one value at a dotted path. */
const nest = (path: string, value: unknown): unknown =>
  path.split(".").reduceRight((inner, key) => ({ [key]: inner }), value);
const read = (from: unknown, path: string): unknown =>
  path.split(".").reduce((at, key) => (at as Record<string, unknown> | undefined)?.[key], from);

/** What a setting takes, just inside its limits, and what it refuses, just outside. */
type Limits = [path: string, taken: unknown[], refused: unknown[]];
const integers = (path: string, least: number, most?: number): Limits => [
  path,
  most === undefined ? [least, 1e9] : [least, most],
  [least - 1, ...(most === undefined ? [] : [most + 1]), least + 0.5, String(least), null],
];
const numbersAbove0 = (path: string): Limits => [path, [0.1, 1e6], [0, -1, "1"]];
const flag = (path: string): Limits => [path, [true, false], ["true", 1, null]];
const url = (path: string): Limits => [
  path,
  ["http://a.example", "https://a.example/x", "ws://a.example", "wss://a.example"],
  ["ftp://a.example", "a.example", "xhttp://a.example", "httpsx://a.example", "", 7],
];
const policy = (path: string): Limits => [
  path,
  ["open", "allowlist", "disabled", "pairing"],
  ["closed", "", null],
];

const GATEWAY: Limits[] = [
  integers("port", 0, 65_535),
  ["bind", ["::"], ["", 7]],
  ["store.driver", ["sqlite"], ["postgres", "mysql", ""]],
  [
    "store.url",
    ["postgres://a/b", "postgresql://a/b"],
    ["http://a/b", "postgres", "xpostgres://a", "postgresqlx://a"],
  ],
  [
    "store.schema",
    ["a", "_", "a_1", "a".repeat(63), "pgx", "my_pg_x"],
    ["", "A", "1a", "a-b", "pg_a", "a".repeat(64), "ab;", "ä"],
  ],
  integers("store.poolSize", 4, 100),
  ["store.ssl", ["prefer", "require", "verify-full", "disable"], ["", "allow", true]],
  ["store.sslRootCert", ["/etc/ca.pem"], ["ca.pem", ""]],
  ["allowedHosts", [[], ["a.example"]], ["a.example", [7]]],
  integers("maxConnections", 1),
  integers("stalledReaderMs", 1),
  integers("minFreeBytes", 0),
  flag("headless"),
  flag("connectorsDefaultEnabled"),
  flag("orchestration.enabled"),
  flag("selfHealing.enabled"),
  flag("selfHealing.autoRecover"),
  flag("appHousekeeping.buildCachePrune"),
  flag("appHousekeeping.danglingImagePrune"),
  numbersAbove0("appHousekeeping.buildCacheMaxAgeHours"),
  ["api.rateLimit", [false], [true, 7]],
  numbersAbove0("api.rateLimit.perSecond"),
  numbersAbove0("api.rateLimit.burst"),
  ["api.uploadRateLimit", [false], [true, 7]],
  numbersAbove0("api.uploadRateLimit.perSecond"),
  numbersAbove0("api.uploadRateLimit.burst"),
  integers("api.maxStreams", 1),
  ["logs.level", ["debug", "info", "warn", "error"], ["", "trace"]],
  integers("logs.maxFileBytes", 1),
  integers("logs.maxFiles", 0),
  ["logs.retentionDays", [0, 0.5, 365], [-1, null]],
  integers("watchdog.exitSeconds", 0, 86_400),
  integers("turns.hardCapMs", 1),
  integers("turns.retainMs", 0),
  integers("turns.injectionMs", 1),
  integers("turns.keepaliveMs", 1),
  integers("cluster.leaseMs", 5_000, 120_000),
  integers("media.maxUploadBytes", 1),
  integers("media.quotaBytes", 1),
  ["history.retentionDays", [null, 0.5, 30], [0, -1, "30"]],
  integers("history.maxHistoryMessages", 0, 100_000),
  integers("history.cleanupHour", 0, 23),
  ["spend.currency", ["EUR", "USD"], ["eur", "EURO", "EU", "E1R", ""]],
  [
    "spend.prices",
    [{}, { "m-*": { input: 0, output: 1_000_000, cacheRead: 0.1, cacheWrite: 2 } }],
    [
      { "": { input: 1, output: 1 } },
      { m: { input: 1 } },
      { m: { output: 1 } },
      { m: { input: -1, output: 1 } },
      { m: { input: 1, output: 1_000_001 } },
      { m: { input: 1, output: 1, cacheRead: -1 } },
      { m: { input: 1, output: 1, cacheWrite: "1" } },
    ],
  ],
  [
    "customConnectors",
    [
      {},
      { "0-a_b": {} },
      {
        crm: {
          label: "CRM",
          config: { url: "https://x" },
          secretNames: ["t"],
          credentialOwner: "gateway",
          defaultEnabled: false,
        },
      },
    ],
    [
      { A: {} },
      { "-a": {} },
      { "a b": {} },
      { "": {} },
      { a: { label: 7 } },
      { a: { config: "x" } },
      { a: { secretNames: "t" } },
      { a: { credentialOwner: "me" } },
      { a: { defaultEnabled: "no" } },
    ],
  ],
];

const SESSION: Limits[] = [
  ["idleTimeoutMinutes", [0.1, 525_600], [0, 525_601, null]],
  integers("maxConcurrent", 1, 10_000),
  integers("warmSpares", 0, 20),
];

const CHANNELS = ["botchat", "guildchat", "devicechat", "cloudchat", "sigchat", "teamchat"];
const AGENT: Limits[] = [
  ["id", ["a", "a".repeat(32), "a-b_1"], ["", "A", "1a", "a".repeat(33), "a b", "-a"]],
  ["name", ["A b"], [7]],
  ["description", [""], [7, null]],
  ["workspace", ["/w"], ["", 7]],
  ["model", ["m"], ["", 7]],
  ["instructions", ["/etc/AGENTS.md"], ["AGENTS.md", "~/AGENTS.md", ""]],
  ["env", [{}, { A: "1" }], [{ A: 1 }, []]],
  ["allowTools", [true, false, [], ["read"]], ["read", [7], null]],
  ["voice", [{ any: 1 }], [7, "x"]],
  ["connectors", [{}, { crm: { enabled: false } }, { crm: {} }], [{ crm: { enabled: 1 } }, { crm: 7 }]],
  flag("orchestration.enabled"),
  ["history.retentionDays", [null, 7], [0]],
  integers("history.cleanupHour", 0, 23),
  ...SESSION.map(([path, taken, refused]): Limits => [`session.${path}`, taken, refused]),
  ...CHANNELS.flatMap((channel): Limits[] => [
    flag(`${channel}.enabled`),
    integers(`${channel}.coalesceMs`, 0, 60_000),
    integers(`${channel}.progressMs`, 0, 600_000),
  ]),
  ...["botchat", "guildchat", "cloudchat", "sigchat", "teamchat"].flatMap((channel): Limits[] => [
    policy(`${channel}.dmPolicy`),
    [`${channel}.dmAllowlist`, [[], ["1"]], ["1", {}]],
    flag(`${channel}.pairing`),
    url(`${channel}.apiBaseUrl`),
  ]),
  ...["botchat", "guildchat", "sigchat", "teamchat"].flatMap((channel): Limits[] => [
    policy(`${channel}.groupPolicy`),
    [`${channel}.groupAllowlist`, [[], ["1"]], ["1", {}]],
  ]),
  ["botchat.mode", ["polling", "webhook"], ["push", ""]],
  url("guildchat.gatewayUrl"),
  url("devicechat.waWebSocketUrl"),
  url("sigchat.dataApiBaseUrl"),
  ...["botchat", "guildchat", "teamchat"].map((channel) => flag(`${channel}.requireMention`)),
  flag("cloudchat.sendReadReceipts"),
  flag("cloudchat.templatesEnabled"),
  ["cloudchat.reactionLevel", ["ack", "off"], ["", "all"]],
];

describe("the limits of the settings", () => {
  it.each(GATEWAY)("hold for gateway.%s", (path, taken, refused) => {
    for (const value of taken) {
      const { config } = load({ gateway: nest(path, value) as object });
      expect([value, read(config?.gateway, path)]).toEqual([value, value]);
    }
    for (const value of refused) {
      const { config, problems } = load({ gateway: nest(path, value) as object });
      expect([value, config]).toEqual([value, null]);
      expect(`${problems[0]?.path}.`).toMatch(new RegExp(`^gateway\\.${path.split(".")[0]}\\.`));
    }
  });

  it.each(SESSION)("hold for session.%s", (path, taken, refused) => {
    for (const value of taken) {
      const { config } = load({ session: nest(path, value) as object });
      expect([value, read(config?.session, path)]).toEqual([value, value]);
    }
    for (const value of refused) {
      const { config, problems } = load({ session: nest(path, value) as object });
      expect([value, config, problems[0]?.path]).toEqual([value, null, `session.${path}`]);
    }
  });

  it.each(AGENT)("hold for an agent's %s [CONF-2]", (path, taken, refused) => {
    const agents = (value: unknown) => load({ agents: [{ id: "a", ...(nest(path, value) as object) }] });
    for (const value of taken) {
      const { config } = agents(value);
      expect([value, read(config?.agents[0], path)]).toEqual([value, value]);
    }
    for (const value of refused) {
      const { config, problems } = agents(value);
      expect([value, config?.agents]).toEqual([value, []]);
      expect(problems[0]?.path.startsWith(`agents.0.${path.split(".")[0]}`)).toBe(true);
    }
  });

  it("hold for a linked device's accounts", () => {
    const account = (value: object) => {
      const { config } = load({ agents: [{ id: "a", devicechat: { accounts: [{ id: "x", ...value }] } }] });
      return config?.agents[0]?.devicechat?.accounts[0];
    };
    const all = {
      id: "x",
      label: "Office",
      dmPolicy: "open",
      dmAllowlist: ["1"],
      pairing: false,
      groupPolicy: "disabled",
      groupAllowlist: ["2"],
      requireMention: false,
      sendReadReceipts: false,
      reactionLevel: "off",
    };
    expect(account(all)).toEqual(all);
    expect(account({ dmAllowlist: [1] })).toMatchObject({ dmAllowlist: ["1"] });
    for (const key of Object.keys(all)) expect([key, account({ [key]: {} })]).toEqual([key, undefined]);
  });
});

describe("settings that depend on others", () => {
  it("are the address of a store on Postgres, which must be there", () => {
    const section = (store: object) => load({ gateway: { store } });
    expect(section({ driver: "postgres" }).problems).toEqual([
      { level: "error", path: "gateway.store", message: "needs url for the driver postgres" },
    ]);
    const both = { driver: "postgres", url: "postgres://a/b" };
    expect(section(both).config?.gateway.store).toMatchObject(both);
  });

  it("are a key and its hash, of which there must be one", () => {
    const hash = `sha256:${"0aF".repeat(21)}1`;
    const key = (entry: object) => load({ gateway: { api: { keys: [entry] } } });
    expect(key({ keyHash: hash }).config?.gateway.api.keys).toEqual([
      { keyHash: hash, write: false, admin: false },
    ]);
    expect(key({ key: "k" }).config?.gateway.api.keys).toEqual([{ key: "k", write: false, admin: false }]);
    const message = "needs exactly one of key and keyHash";
    for (const wrong of [{}, { key: "k", keyHash: hash }]) {
      expect(key(wrong).problems).toEqual([{ level: "error", path: "gateway.api.keys.0", message }]);
    }
    for (const keyHash of [`x${hash}`, `${hash}0`, hash.slice(0, -1), hash.replace("F", "G"), "sha1:00"]) {
      expect(key({ keyHash }).problems[0]?.message).toBe("must be sha256:<64 hex digits>");
    }
    for (const id of ["ci", "0", "a".repeat(32), "a-b_c", "0123456789ag", "0123456789abc"]) {
      expect(key({ id, key: "k" }).config?.gateway.api.keys[0]?.id).toBe(id);
    }
    for (const id of ["", "CI", "-a", "a".repeat(33), "0123456789ab", "a b"]) {
      expect(key({ id, key: "k" }).problems[0]?.message).toBe("must be a-z 0-9 _ -, and not 12 hex digits");
    }
    for (const agents of ["all", 7, [7]]) expect(key({ key: "k", agents }).config).toBeNull();
  });
});

describe("the words of a refusal", () => {
  it.each([
    ["store.url", "x", expect.stringMatching(/^must be a postgres:\/\/ URL/)],
    ["store.schema", "X", "must be a-z 0-9 _, at most 63 characters, and not begin with pg_ or a digit"],
    ["store.sslRootCert", "x", "must be an absolute path"],
    ["spend.currency", "x", "must be three capital letters"],
  ])("say what gateway.%s must be", (path, value, message) => {
    expect(load({ gateway: nest(path, value) as object }).problems).toEqual([
      { level: "error", path: `gateway.${path}`, message },
    ]);
  });

  it.each([
    ["instructions", "must be an absolute path"],
    ["id", "must be a-z, then up to 31 of a-z 0-9 _ -"],
    ["botchat.apiBaseUrl", "must be an http(s) or ws(s) URL"],
  ])("say what an agent's %s must be", (path, message) => {
    const { problems } = load({ agents: [{ id: "a", ...(nest(path, "X") as object) }] });
    expect(problems).toMatchObject([{ path: `agents.0.${path}`, message }]);
  });
});
