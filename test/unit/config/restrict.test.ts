import { mkdir, stat, symlink } from "node:fs/promises";
import { basename, join } from "node:path";
import { describe, expect, it } from "vitest";
import { createPaths, restrictHome } from "../../../packages/gateway/src/config/index.ts";
import { tempFolder, tempHome } from "../../fixtures/temp-home.ts";

const modeOf = async (file: string) => (await stat(file)).mode & 0o777;

describe("the home's files with wider modes", () => {
  it.each([
    "gateway.db",
    "gateway.db-wal",
    "gateway.db-shm",
    "gateway.db-journal",
    "logs/gateway.log",
    "logs/gateway.log.1",
    "logs/gateway.log.12",
    "config.json",
    "config.last-good.json",
    ".env",
    "mcp-token.env",
  ])("%s becomes its owner's alone", async (name) => {
    const home = await tempHome();
    for (const mode of [0o644, 0o640, 0o602]) {
      const file = await home.write(name, "{}", mode);
      await restrictHome(home.paths);
      expect(await modeOf(file)).toBe(0o600);
    }
  });

  it("keep a mode that lets nobody else in, and files that are not the gateway's keep theirs", async () => {
    const home = await tempHome();
    const narrow = await home.write("gateway.db", "", 0o400);
    const others = await Promise.all(
      ["notes.txt", "logs/notes.txt", "logs/app.log.gz", "logs/app.log.1.bak"].map((name) =>
        home.write(name, "", 0o644),
      ),
    );
    await restrictHome(home.paths);
    expect(await modeOf(narrow)).toBe(0o400);
    for (const file of others) expect([basename(file), await modeOf(file)]).toEqual([basename(file), 0o644]);
  });

  it("are not followed where they are links, and folders keep their mode", async () => {
    const home = await tempHome();
    const elsewhere = await tempHome();
    const target = await elsewhere.write("shared.db", "", 0o644);
    await symlink(target, home.paths.database);
    const folder = join(home.paths.home, ".env");
    await mkdir(folder, { mode: 0o755 });
    await restrictHome(home.paths);
    expect(await modeOf(target)).toBe(0o644);
    expect(await modeOf(folder)).toBe(0o755);
  });

  it("leave a configuration outside the home as it is, and need no home", async () => {
    const other = await tempHome();
    const file = await other.write("shared.json", "{}", 0o644);
    const missing = join(await tempFolder(), "none");
    await restrictHome(createPaths({ GATEWAY_HOME: missing, GATEWAY_CONFIG: file }));
    expect(await modeOf(file)).toBe(0o644);
  });
});
