import { execFile } from "node:child_process";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { createPaths, firstRun, readDotenv } from "../../../packages/gateway/src/config/index.ts";
import { tempFolder, tempHome } from "../../fixtures/temp-home.ts";
import { root } from "../../harness.ts";

describe("the first run", () => {
  it("writes an agent `assistant` and an admin key, which only its owner can read [START-6]", async () => {
    const home = join(await tempFolder(), "new");
    const paths = createPaths({ GATEWAY_HOME: home });
    const first = await firstRun(paths, {});
    expect(first).toMatchObject({ fromEnvironment: false });
    expect(first!.adminKey).toMatch(/^gk_[\w-]{32}$/);
    expect(await readDotenv(join(home, ".env"))).toEqual({ GATEWAY_ADMIN_KEY: first!.adminKey });
    const modes = await Promise.all([home, join(home, ".env"), paths.configFile].map((file) => stat(file)));
    expect(modes.map(({ mode }) => mode & 0o777)).toEqual([0o700, 0o600, 0o600]);
    const file = JSON.parse(await readFile(paths.configFile, "utf8"));
    expect(file.gateway.api.keys).toEqual([
      { key: "${GATEWAY_ADMIN_KEY}", description: "admin", agents: "*", admin: true },
    ]);
    expect(file.agents).toMatchObject([{ id: "assistant", runtime: { type: "auto" } }]);
    expect((await readdir(home)).sort()).toEqual([".env", "config.json"]);
    expect(await firstRun(paths, {})).toBeNull();
  });

  it("makes a configuration that loads, with the key in it", async () => {
    const home = await tempHome();
    const first = await firstRun(home.paths, {});
    const store = await home.open();
    expect(store.current.gateway.api.keys[0]).toMatchObject({ key: first!.adminKey, admin: true });
    expect(home.log.lines).toEqual([]);
  });

  it("keeps a key that the environment or .env has", async () => {
    const given = await tempHome();
    expect(await firstRun(given.paths, { GATEWAY_ADMIN_KEY: "mine" })).toEqual({
      adminKey: "mine",
      fromEnvironment: true,
    });
    const stored = await tempHome();
    await stored.write(".env", "# mine\nOTHER=1\nGATEWAY_ADMIN_KEY=stored\n");
    expect(await firstRun(stored.paths, {})).toMatchObject({ adminKey: "stored" });
  });

  it("adds the key to a .env that has other lines", async () => {
    const home = await tempHome();
    await home.write(".env", "OTHER=1\n", 0o644);
    const first = await firstRun(home.paths, {});
    const file = join(home.paths.home, ".env");
    expect(await readDotenv(file)).toEqual({ OTHER: "1", GATEWAY_ADMIN_KEY: first!.adminKey });
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  it("agrees on one key when several starts come at the same moment", async () => {
    for (let round = 0; round < 3; round++) {
      const home = join(await tempFolder(), "new");
      const script = join(root, "test/fixtures/first-start.mjs");
      const env = { ...process.env, GATEWAY_HOME: home };
      const starts = Array.from({ length: 4 }, () =>
        promisify(execFile)(process.execPath, [script], { env }),
      );
      const printed = (await Promise.all(starts)).map(({ stdout }) => stdout.trim()).filter(Boolean);
      const { GATEWAY_ADMIN_KEY } = await readDotenv(join(home, ".env"));
      expect(new Set(printed)).toEqual(new Set([GATEWAY_ADMIN_KEY]));
    }
  });

  it("agrees on one key within a process, whatever the order of steps", async () => {
    for (let round = 0; round < 20; round++) {
      const home = await tempHome();
      const found = await Promise.all(Array.from({ length: 8 }, () => firstRun(home.paths, {})));
      const keys = new Set(found.flatMap((one) => (one ? [one.adminKey] : [])));
      expect([...keys]).toEqual([(await readDotenv(join(home.paths.home, ".env"))).GATEWAY_ADMIN_KEY]);
    }
  });
});
