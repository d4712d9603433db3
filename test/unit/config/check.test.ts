import { chmod } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import {
  auditPermissions,
  checkConfig,
  startupWarnings,
} from "../../../packages/gateway/src/config/index.ts";
import { tempHome } from "../../fixtures/temp-home.ts";

const withKey = (key: object) => ({ gateway: { api: { keys: [{ agents: "*", ...key }] } } });
const reference = withKey({ key: "${KEY}", admin: true });

describe("who can read the secrets", () => {
  it("decides: on an address that others reach, an open .env forbids the start and the fix is named [CONF-10]", async () => {
    const home = await tempHome(reference);
    const file = await home.write(".env", "KEY=k\n", 0o644);
    const { refusal } = await auditPermissions(home.paths, "0.0.0.0");
    expect(refusal).toContain(`chmod 600 '${file}'`);
    const onLoopback = await auditPermissions(home.paths, "127.0.0.1");
    expect(onLoopback.refusal).toBeNull();
    expect(onLoopback.warnings[0]).toContain("chmod 600");
  });

  it("covers the agents' .env, and the configuration only when a key stands in it", async () => {
    const home = await tempHome();
    await home.write("config.json", reference, 0o644);
    expect(await auditPermissions(home.paths, "0.0.0.0")).toEqual({ refusal: null, warnings: [] });
    await home.write("agents/a/.env", "T=t\n", 0o604);
    expect((await auditPermissions(home.paths, "0.0.0.0")).refusal).toContain("agents/a/.env");
    const literal = await tempHome();
    await literal.write("config.json", withKey({ key: "literal" }), 0o644);
    // Its folder lets nobody in.
    expect(await auditPermissions(literal.paths, "::")).toEqual({ refusal: null, warnings: [] });
    await chmod(literal.paths.home, 0o755);
    expect((await auditPermissions(literal.paths, "::")).refusal).toContain("config.json");
    const hashed = await tempHome();
    await chmod(hashed.paths.home, 0o755);
    await hashed.write("config.json", withKey({ keyHash: `sha256:${"a".repeat(64)}` }), 0o644);
    expect((await auditPermissions(hashed.paths, "::")).refusal).toBeNull();
  });
});

describe("warnings at start", () => {
  const warn = async (config: unknown, env = {}) => {
    const home = await tempHome(config);
    return startupWarnings((await home.open(env)).current.gateway).join("\n");
  };

  it("tell of a reachable gateway without keys, of keys without admin, and of unusable keys [MON-3]", async () => {
    expect(await warn({ gateway: { bind: "0.0.0.0" } })).toMatch(/503/);
    expect(await warn({ gateway: {} })).toBe("");
    expect(await warn(withKey({ key: "k" }))).toMatch(/dashboard is inaccessible/);
    expect(await warn(reference)).toMatch(/can be used/);
    expect(await warn(reference, { KEY: "k" })).toBe("");
  });
});

describe("config check", () => {
  it("says nothing about a good file, and writes nothing [CLI-4]", async () => {
    const home = await tempHome(reference);
    expect(await checkConfig(home.paths, { KEY: "k" })).toEqual([]);
  });

  it("lists everything with level and path", async () => {
    const home = await tempHome({
      ...withKey({ key: "${KEY}" }),
      unknown: 1,
      agents: [{ id: "a", model: "${MODEL_OF_A}" }],
    });
    expect(await checkConfig(home.paths, {})).toEqual([
      { level: "warning", path: "unknown", message: expect.any(String) },
      { level: "warning", path: "gateway.api.keys.0", message: expect.stringContaining("KEY") },
      {
        level: "error",
        path: "agents.0.model",
        message: expect.stringContaining("MODEL_OF_A"),
        skips: 'agent "a" (agents[0])',
      },
      { level: "warning", path: "gateway.api.keys", message: expect.any(String) },
    ]);
  });

  it("names the place in a file that is not JSON, and a missing file", async () => {
    const home = await tempHome('{\n  "gateway": {},,\n}');
    expect((await checkConfig(home.paths, {}))[0]!.message).toMatch(/not valid JSON.*line 2/);
    expect((await checkConfig((await tempHome()).paths, {}))[0]!.message).toMatch(/does not exist/);
  });
});
