import { chmod, mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
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

  it("is everyone who can read or change them, and not a group of its own", async () => {
    const home = await tempHome(reference);
    const file = await home.write(".env", "KEY=k\n", 0o640);
    const refused = async () => (await auditPermissions(home.paths, "0.0.0.0")).refusal !== null;
    const found: Record<string, boolean> = {};
    for (const mode of [0o600, 0o660, 0o601, 0o602, 0o604]) {
      await chmod(file, mode);
      found[mode.toString(8)] = await refused();
    }
    expect(found).toEqual({ 600: false, 660: false, 601: false, 602: true, 604: true });
  });

  it("names every open file for the shell, whatever its name, and the address", async () => {
    const home = await tempHome(reference);
    const first = await home.write(".env", "KEY=k\n", 0o644);
    const second = await home.write("agents/it's/.env", "", 0o644);
    const audit = await auditPermissions(home.paths, "10.0.0.1");
    expect(audit).toEqual({
      refusal: `The gateway refuses to start on 10.0.0.1 while every user of this machine can read secrets; fix it with: chmod 600 '${first}' '${second.replace("'", "'\\''")}'`,
      warnings: [],
    });
    const warned = await auditPermissions(home.paths, "localhost");
    expect(warned.refusal).toBeNull();
    expect(warned.warnings).toEqual([expect.stringMatching(/^Security: every user of this machine/)]);
  });

  it("covers a file that cannot be parsed, and not one whose secrets are empty", async () => {
    const home = await tempHome();
    await chmod(home.paths.home, 0o755);
    const refused = async (text: unknown) => {
      await home.write("config.json", text);
      await chmod(home.paths.configFile, 0o644);
      return (await auditPermissions(home.paths, "::")).refusal !== null;
    };
    expect(await refused('{"key": literal')).toBe(true);
    expect(await refused(withKey({ key: "" }))).toBe(false);
    expect(await refused(withKey({ key: "literal" }))).toBe(true);
    // One closed folder on the way is enough.
    const inner = await tempHome();
    const open = join(inner.paths.home, "open");
    await mkdir(open, { mode: 0o755 });
    const paths = { ...inner.paths, configFile: join(open, "config.json") };
    await inner.write("open/config.json", withKey({ key: "literal" }), 0o644);
    expect((await auditPermissions(paths, "::")).refusal).toBeNull();
    await chmod(inner.paths.home, 0o755);
    expect((await auditPermissions(paths, "::")).refusal).toContain("config.json");
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

  it("tells who can read the secrets: as an error where the start would be refused", async () => {
    const home = await tempHome(reference);
    await home.write(".env", "KEY=k\n", 0o644);
    expect(await checkConfig(home.paths, {})).toEqual([
      { level: "warning", path: "", message: expect.stringMatching(/^Security: /) },
    ]);
    expect(await checkConfig(home.paths, { GATEWAY_BIND: "0.0.0.0" })).toEqual([
      { level: "error", path: "", message: expect.stringMatching(/^The gateway refuses to start/) },
    ]);
  });

  it("says of what cannot be read that it cannot, and of a broken section only what is wrong", async () => {
    const home = await tempHome();
    await mkdir(home.paths.configFile);
    const unreadable = { level: "error", path: "", message: "the configuration file cannot be read" };
    expect(await checkConfig(home.paths, {})).toEqual([unreadable]);
    const loop = await tempHome();
    await symlink(loop.paths.configFile, loop.paths.configFile);
    expect(await checkConfig(loop.paths, {})).toMatchObject([{ level: "error", path: "" }]);
    const broken = await tempHome({ configVersion: "9.0.0", gateway: { bind: 7 } });
    expect((await checkConfig(broken.paths, {})).map(({ level, path }) => [level, path])).toEqual([
      ["warning", "configVersion"],
      ["error", "gateway.bind"],
    ]);
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
