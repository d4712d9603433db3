import { describe, expect, it } from "vitest";
import { createPaths } from "../../../packages/gateway/src/config/index.ts";
import { collectSecrets, type Loaded, loadConfig } from "../../../packages/gateway/src/config/load.ts";

const paths = createPaths({ GATEWAY_HOME: "/srv/gw" });

function load(raw: Record<string, unknown>, env: Record<string, string> = {}) {
  return loadConfig(raw, { paths, env, homeEnv: {}, agentEnv: new Map() });
}

/** Loads a `gateway` section that can be used. */
function gatewayOf(gateway: unknown, env?: Record<string, string>) {
  const { config, problems } = load({ gateway }, env);
  if (!config) throw new Error(JSON.stringify(problems));
  return { gateway: config.gateway, problems, said: problems.map(({ message }) => message) };
}

describe("keys of the API", () => {
  it("with the id of an earlier one lose it, and keep working", () => {
    const keys = [
      { id: "ci", key: "k1" },
      { key: "k2" },
      { id: "ci", key: "k3", write: true },
      { id: "app", key: "k4" },
      { key: "k5" },
    ];
    const { gateway, problems } = gatewayOf({ api: { keys } });
    expect(gateway.api.keys.map(({ id, key }) => [id, key])).toEqual([
      ["ci", "k1"],
      [undefined, "k2"],
      [undefined, "k3"],
      ["app", "k4"],
      [undefined, "k5"],
    ]);
    expect(problems).toEqual([
      { level: "warning", path: "gateway.api.keys.2.id", message: expect.stringMatching(/another key/) },
    ]);
  });

  it("that cannot be used say whether their variable is missing or empty, and keep their note and level", () => {
    const key = { key: "${KEY}", description: "admin", agents: "*", admin: true };
    const missing = gatewayOf({ api: { keys: [key] } });
    expect(missing.said).toEqual(["the variable KEY is not set, so this key cannot be used"]);
    const empty = gatewayOf({ api: { keys: [key] } }, { KEY: "" });
    expect(empty.said).toEqual(["its variable is empty, so this key cannot be used"]);
    expect(empty.gateway.api.keys).toMatchObject([{ description: "admin", admin: true, agents: [] }]);
  });

  it.each([
    ["empty", { key: "" }],
    ["no object", 7],
    ["both a key and a hash", { key: "k", keyHash: `sha256:${"0".repeat(64)}` }],
  ])("that are written wrong break the section: %s", (_, key) => {
    expect(load({ gateway: { api: { keys: [key] } } }).config).toBeNull();
  });

  it("may have the rest of their section in variables", () => {
    const api = { rateLimit: false, note: "${NOTE}" };
    expect(gatewayOf({ api }, { NOTE: "n" }).gateway.api).toMatchObject({
      rateLimit: false,
      note: "n",
      keys: [],
    });
  });
});

describe("values of the section", () => {
  it("are left out, with a warning that names the variable, when it is not set", () => {
    const { gateway, problems } = gatewayOf({ bind: "${BIND}", allowedHosts: ["a", "${HOST}"] });
    expect(gateway).toMatchObject({ bind: "127.0.0.1", allowedHosts: ["a"] });
    expect(problems).toEqual([
      {
        level: "warning",
        path: "gateway.bind",
        message: "the variable BIND is not set, so this value is left out",
      },
      { level: "warning", path: "gateway.allowedHosts.1", message: expect.stringContaining("HOST") },
    ]);
  });

  it("tell which time zone is used in place of an unknown one", () => {
    const { said, gateway } = gatewayOf({
      timezone: "Mars/Base",
      spend: { timezone: "Moon/Base" },
      knowledge: { reflection: { timezone: "" } },
    });
    expect(said).toEqual([
      "is not a known time zone; using UTC",
      "is not a known time zone; using gateway.timezone",
      "is not a known time zone; using gateway.timezone",
    ]);
    expect([gateway.timezone, gateway.spend.timezone]).toEqual(["UTC", "UTC"]);
  });

  it("follow gateway.timezone in every feature that names none, and in no other", () => {
    const own = {
      history: { cleanupTimezone: "Europe/Oslo", cleanupHour: 4 },
      spend: { timezone: "Europe/Paris", currency: "EUR" },
      appBackup: { cleanupTimezone: "Europe/Rome" },
      skillLearning: { pruneTimezone: "Europe/Riga" },
      dreaming: { dreamTimezone: "Europe/Sofia" },
      knowledge: { reflection: { timezone: "Europe/Vienna" } },
    };
    const { gateway, problems } = gatewayOf({ timezone: "Asia/Tokyo", ...own });
    expect(gateway).toMatchObject({ timezone: "Asia/Tokyo", ...own });
    expect(problems).toEqual([]);
    const zones = JSON.stringify(gatewayOf({ timezone: "Asia/Tokyo" }).gateway).match(/Asia\/Tokyo/g);
    expect(zones).toHaveLength(1 + Object.keys(own).length);
  });

  it.each([
    ["http://return.example/done", "taken"],
    ["https://return.example/done", "taken"],
    ["httpsx://return.example", "is not an http(s) URL; it is ignored"],
    ["xhttp://return.example", "is not an http(s) URL; it is ignored"],
  ])("take oauthReturnUrl %s: %s", (oauthReturnUrl, outcome) => {
    const { gateway, said } = gatewayOf({ oauthReturnUrl });
    expect(gateway.oauthReturnUrl).toBe(outcome === "taken" ? oauthReturnUrl : undefined);
    expect(said).toEqual(outcome === "taken" ? [] : [outcome]);
  });

  it.each([
    ["ftp://gw.example/gateway", "is not an http(s) URL; it is ignored"],
    ["httpsx://gw.example/gateway", "is not an http(s) URL; it is ignored"],
    ["https://gw.example/gateway/x", "must end in /gateway; it is ignored"],
    ["https://gw.example/gateway#x", "must end in /gateway; it is ignored"],
    ["http://gw.example/gateway", "must be https unless its host is local; it is ignored"],
    ["http://127.0.0.1/gateway", undefined],
  ])("say why publicUrl %s is ignored", (publicUrl, why) => {
    expect(gatewayOf({ publicUrl }).said).toEqual(why === undefined ? [] : [why]);
  });

  it.each([
    ["8080", 8080],
    ["65535", 65_535],
    ["65536", 1],
    ["80x", 1],
    ["x80", 1],
    ["080808", 1],
    ["-1", 1],
    [" ", 1],
    ["", 1],
  ])("give way to PORT=%j: %s", (PORT, port) => {
    const { gateway, said } = gatewayOf({ port: 1 }, { PORT });
    expect(gateway.port).toBe(port);
    const ignored = port === 1 && PORT !== "";
    expect(said).toEqual(ignored ? ["PORT in the environment is not a port number; it is ignored"] : []);
  });

  it("take the store of GATEWAY_STORE_URL, and break when it is not one of Postgres", () => {
    const url = "postgresql://u@db.example/x";
    const store = { poolSize: 7 };
    expect(gatewayOf({ store }, { GATEWAY_STORE_URL: url }).gateway.store).toMatchObject({
      driver: "postgres",
      url,
      poolSize: 7,
    });
    expect(gatewayOf({}, { GATEWAY_STORE_URL: url }).gateway.store).toMatchObject({
      driver: "postgres",
      url,
    });
    expect(gatewayOf({ store }).gateway.store).toMatchObject({ driver: "sqlite", poolSize: 7 });
    const wrong = load({ gateway: { bind: "${BIND}" } }, { GATEWAY_STORE_URL: "http://u@db.example/x" });
    expect(wrong.config).toBeNull();
    expect(wrong.problems).toEqual([
      { level: "warning", path: "gateway.bind", message: expect.any(String) },
      {
        level: "error",
        path: "",
        message: expect.stringMatching(/^GATEWAY_STORE_URL in the environment must be a postgres:\/\/ URL/),
      },
    ]);
  });
});

describe("the rest of the file", () => {
  it("keeps the version that the file names", () => {
    expect(load({ configVersion: "3.1.0" }).config?.configVersion).toBe("3.1.0");
    expect(load({ configVersion: 7 }).config?.configVersion).toBe("2.0.0");
  });

  it("tells each reason for which an agent is skipped, also of several with one id", () => {
    const { config, problems } = load({
      agents: [{ id: "a", model: 1 }, { id: "a" }, { id: "a", model: 2 }, { id: "b", model: "" }, {}],
    });
    expect(config?.agents.map(({ id }) => id)).toEqual(["a"]);
    expect(problems.map(({ path, skips }) => [path, skips])).toEqual([
      ["agents.0.model", 'agent "a" (agents[0])'],
      ["agents.2.model", 'agent "a" (agents[2])'],
      ["agents.3.model", 'agent "b" (agents[3])'],
      ["agents.4.id", "the agent at agents[4]"],
    ]);
  });

  it("says of an unknown key that it is one", () => {
    expect(load({ surprise: null }).problems).toEqual([
      { level: "warning", path: "surprise", message: "is not a known key" },
    ]);
  });

  it("knows entries without an id by their place, and says of what is no list that it must be one", () => {
    const { skipped } = load({ agents: [7, {}, { id: 7 }] }) as Loaded;
    expect([...skipped.keys()]).toEqual(["#0", "#1", "#2"]);
    expect(load({ agents: {} }).problems).toEqual([
      { level: "error", path: "agents", message: "must be a list" },
    ]);
  });

  it("has every value of the .env files among those that must not be logged, also one without a use", () => {
    const { secrets } = loadConfig(
      { agents: [{ id: "a" }] },
      { paths, env: { S: "shell" }, homeEnv: { H: "home" }, agentEnv: new Map([["a", { O: "own" }]]) },
    ) as Loaded;
    expect([...secrets]).toEqual(["home", "own"]);
    const off = load({ gateway: { api: { keys: [{ key: "${NONE}" }] } } }) as Loaded;
    expect(off.secrets).toEqual(new Set());
  });

  it("has values that must not be logged wherever a key's name says so, at any depth that is used", () => {
    const secrets = new Set<string>();
    const deep = Array.from({ length: 14 }).reduce((inner) => ({ inner }), { password: "deep" });
    collectSecrets(
      { list: [{ botToken: "t1" }, { note: "n" }], key: "k", port: 1, none: null, deep },
      secrets,
    );
    expect([...secrets].sort()).toEqual(["deep", "k", "t1"]);
    const ring: Record<string, unknown> = { secret: "s" };
    ring.self = ring;
    collectSecrets(ring, secrets);
    expect(secrets).toContain("s");
  });
});
