import { mkdir, readdir, readFile, readlink, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createPaths, firstRun, readDotenv } from "../../../packages/gateway/src/config/index.ts";
import { tempFolder, tempHome } from "../../fixtures/temp-home.ts";

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

  it("agrees on one key within a process, whatever the order of steps", async () => {
    for (let round = 0; round < 20; round++) {
      const home = await tempHome();
      const found = await Promise.all(Array.from({ length: 8 }, () => firstRun(home.paths, {})));
      const keys = new Set(found.flatMap((one) => (one ? [one.adminKey] : [])));
      expect([...keys]).toEqual([(await readDotenv(join(home.paths.home, ".env"))).GATEWAY_ADMIN_KEY]);
    }
  });

  it.each([
    ["the key that another start has proposed", ".first-key", "gk_proposed", "gk_proposed"],
    ["a key of its own in place of an empty one", ".env", "GATEWAY_ADMIN_KEY=\n", /^gk_[\w-]{32}$/],
  ])("takes %s", async (_, name, text, key) => {
    const home = await tempHome();
    await home.write(name, text);
    const first = await firstRun(home.paths, { GATEWAY_ADMIN_KEY: "" });
    expect(first).toEqual({ adminKey: expect.stringMatching(key), fromEnvironment: false });
    expect(await readDotenv(join(home.paths.home, ".env"))).toEqual({ GATEWAY_ADMIN_KEY: first!.adminKey });
    expect((await readdir(home.paths.home)).sort()).toEqual([".env", "config.json"]);
  });

  it("stores no key that the environment has", async () => {
    const home = await tempHome();
    await firstRun(home.paths, { GATEWAY_ADMIN_KEY: "mine" });
    expect(await readdir(home.paths.home)).toEqual(["config.json"]);
  });

  it("writes the configuration where GATEWAY_CONFIG says, in folders that only its owner can enter", async () => {
    const home = join(await tempFolder(), "a", "home");
    const folder = join(await tempFolder(), "b", "c");
    const file = join(folder, "gw.json");
    const paths = createPaths({ GATEWAY_HOME: home, GATEWAY_CONFIG: file });
    await firstRun(paths, {});
    expect(await readFile(file, "utf8")).toMatch(/^\{\n {2}"configVersion": "2\.0\.0",\n.*\}\n$/s);
    expect(await readdir(home)).toEqual([".env"]);
    for (const made of [home, folder]) expect((await stat(made)).mode & 0o777).toBe(0o700);
  });

  it("leaves whatever is in the place of the file alone, also what cannot be looked at", async () => {
    for (const put of [
      (file: string) => mkdir(file),
      (file: string) => symlink(file, file),
      (file: string) => writeFile(file, ""),
    ]) {
      const home = await tempHome();
      await put(home.paths.configFile);
      expect(await firstRun(home.paths, {})).toBeNull();
      expect(await readdir(home.paths.home)).toEqual(["config.json"]);
    }
  });

  it("leaves a file alone that comes while the key is chosen", async () => {
    const home = await tempHome();
    const target = join(home.paths.home, "later.json");
    // A link that leads nowhere is no file yet, and its place is taken.
    await symlink(target, home.paths.configFile);
    expect(await firstRun(home.paths, {})).not.toBeNull();
    expect(await readlink(home.paths.configFile)).toBe(target);
    expect((await readdir(home.paths.home)).sort()).toEqual([".env", "config.json"]);
  });

  it("fails, and writes no configuration, where the key cannot be agreed on", async () => {
    const home = await tempHome();
    await mkdir(join(home.paths.home, ".first-key"));
    await expect(firstRun(home.paths, {})).rejects.toThrow("the path is refused");
    expect(await readdir(home.paths.home)).toEqual([".first-key"]);
    const other = await tempHome();
    await mkdir(join(other.paths.home, ".env"));
    await expect(firstRun(other.paths, {})).rejects.toThrow();
    expect(await readdir(other.paths.home)).not.toContain("config.json");
  });
});
