import { mkdir } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { storeSettings } from "../../../packages/gateway/src/config/index.ts";
import { tempHome } from "../../fixtures/temp-home.ts";

const URL_OF_FILE = "postgres://file@db.example/a";
const URL_OF_SHELL = "postgres://shell@db.example/b";
const withStore = (store: unknown) => ({ gateway: { store } });

describe("the settings of the store", () => {
  it("are those of the file, with variables of the shell and of the home's .env", async () => {
    const home = await tempHome(withStore({ driver: "postgres", url: "${A}${B}", poolSize: 5 }));
    await home.write(".env", "A=wrong\nB=db.example/a\n");
    expect(await storeSettings(home.paths, { A: "postgres://file@" })).toEqual({
      driver: "postgres",
      url: URL_OF_FILE,
      schema: "agent_gateway",
      poolSize: 5,
      ssl: "prefer",
    });
  });

  it.each([{}, { gateway: {} }, { gateway: { port: 1 }, agents: 7 }])(
    "are those of SQLite where the file names no store: %j",
    async (file) => {
      const home = await tempHome(file);
      expect(await storeSettings(home.paths, {})).toMatchObject({ driver: "sqlite" });
    },
  );

  it("yield to GATEWAY_STORE_URL, which chooses Postgres and keeps the rest of the section", async () => {
    const home = await tempHome(withStore({ driver: "sqlite", schema: "mine" }));
    expect(await storeSettings(home.paths, { GATEWAY_STORE_URL: URL_OF_SHELL })).toMatchObject({
      driver: "postgres",
      url: URL_OF_SHELL,
      schema: "mine",
    });
    const wrong = { GATEWAY_STORE_URL: "mysql://db.example/b" };
    expect(await storeSettings(home.paths, wrong)).toBeUndefined();
    expect(await storeSettings(home.paths, { GATEWAY_STORE_URL: "" })).toMatchObject({ driver: "sqlite" });
  });

  it("can be told where there is no file yet, also for Postgres", async () => {
    const { paths } = await tempHome();
    expect(await storeSettings(paths, {})).toMatchObject({ driver: "sqlite" });
    expect(await storeSettings(paths, { GATEWAY_STORE_URL: URL_OF_SHELL })).toMatchObject({
      driver: "postgres",
      url: URL_OF_SHELL,
      schema: "agent_gateway",
    });
  });

  it.each(["{ not json", withStore({ driver: "postgres" }), withStore({ driver: "oracle" })])(
    "are those of the last configuration that worked where the file has none that can be used: %j",
    async (file) => {
      const home = await tempHome(file);
      expect(await storeSettings(home.paths, {})).toBeUndefined();
      await home.write("config.last-good.json", withStore({ driver: "postgres", url: URL_OF_FILE }));
      expect(await storeSettings(home.paths, {})).toMatchObject({ driver: "postgres", url: URL_OF_FILE });
    },
  );

  it("are unknown, not SQLite, where something other than a file is in the file's place", async () => {
    const { paths } = await tempHome();
    await mkdir(paths.configFile);
    expect(await storeSettings(paths, {})).toBeUndefined();
  });
});
