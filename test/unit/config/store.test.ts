import { readFile, rename, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  type Config,
  ConfigFileError,
  createConfigStore,
} from "../../../packages/gateway/src/config/index.ts";
import { systemClock } from "../../../packages/gateway/src/lib/clock.ts";
import { tempFolder, tempHome } from "../../fixtures/temp-home.ts";
import { until } from "../../harness.ts";

const entry = (id: string) => ({ id, runtime: { type: "starter" } });
const good = { configVersion: "2.0.0", gateway: { port: 0 }, agents: [entry("one")] };
const ids = (config: Config) => config.agents.map(({ id }) => id);

describe("start", () => {
  it("falls back to the last configuration that worked when the file is broken [CONF-4]", async () => {
    const home = await tempHome(good);
    await (await home.open()).close();
    for (const broken of ["{ not json", JSON.stringify({ gateway: { port: "x" } })]) {
      await home.write("config.json", broken);
      const store = await home.open();
      expect(ids(store.current)).toEqual(["one"]);
      expect(home.log.text()).toMatch(/error THE CONFIGURATION FILE IS BROKEN/);
      await expect(store.update(() => {})).rejects.toMatchObject({ code: "CONFLICT" });
      expect(await readFile(home.paths.configFile, "utf8")).toBe(broken);
    }
  });

  it("falls back to what it last reloaded [CONF-4]", async () => {
    const home = await tempHome(good);
    const running = await home.open();
    await home.write("config.json", { ...good, agents: [entry("one"), entry("two")] });
    await until(() => home.log.text().includes("configuration: reloaded"), "the reload");
    await running.close();
    await home.write("config.json", "{ not json");
    expect(ids((await home.open()).current)).toEqual(["one", "two"]);
  });

  it("falls back to what it last changed itself [CONF-4]", async () => {
    const home = await tempHome(good);
    const running = await home.open();
    await running.update((raw) => {
      raw.agents = [entry("one"), entry("three")];
    });
    await running.close();
    await home.write("config.json", "{ not json");
    expect(ids((await home.open()).current)).toEqual(["one", "three"]);
  });

  it("ends with status 78 and the reason when there is none that worked [CONF-4]", async () => {
    const home = await tempHome('{"gateway": {"bind": 7, "token": very-secret}}');
    const failure = await home.open().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ConfigFileError);
    expect(failure).toMatchObject({ exitCode: 78 });
    expect((failure as Error).message).toMatch(/not valid JSON/);
    expect((failure as Error).message).not.toMatch(/secret/);
  });

  it("migrates an older file and keeps the old one [CONF-6]", async () => {
    const old = { configVersion: "1.0.12", gateway: { port: 0 }, unknown: [1], agents: [entry("one")] };
    const home = await tempHome(old);
    const store = await home.open();
    expect(store.current.gateway.bind).toBe("0.0.0.0");
    const file = JSON.parse(await readFile(home.paths.configFile, "utf8"));
    expect(file).toEqual({ ...old, configVersion: "2.0.0", gateway: { port: 0, bind: "0.0.0.0" } });
    expect(JSON.parse(await readFile(`${home.paths.configFile}.bak-1.0.12`, "utf8"))).toEqual(old);
  });
});

describe("reload", () => {
  it("applies a change of the file without a restart and tells the listeners [CONF-5]", async () => {
    const home = await tempHome(good);
    const store = await home.open();
    const seen: [string[], string[]][] = [];
    store.onChange((next, previous) => seen.push([ids(next), ids(previous)]));
    await home.write("config.json", {
      ...good,
      session: { maxConcurrent: 3 },
      agents: [entry("one"), entry("two")],
    });
    await until(() => store.current.agents.length === 2, "the reload");
    expect(store.current.agents[1]!.session.maxConcurrent).toBe(3);
    expect(seen).toEqual([[["one", "two"], ["one"]]]);
  });

  it("follows editors that put another file in the place of the old one, again and again", async () => {
    const home = await tempHome(good);
    const store = await home.open();
    for (const id of ["two", "three", "four"]) {
      const other = await home.write("config.json.new", { ...good, agents: [entry(id)] });
      await rename(home.paths.configFile, `${home.paths.configFile}~`);
      await rename(other, home.paths.configFile);
      await until(() => ids(store.current)[0] === id, `the reload of ${id}`);
    }
  });

  it("keeps the running configuration when the file breaks, and takes the next good one [CONF-5]", async () => {
    const home = await tempHome(good);
    const store = await home.open();
    const before = store.current;
    await home.write("config.json", '{"agents": [');
    await until(() => home.log.text().includes("the running configuration stays"), "the warning");
    expect(store.current).toBe(before);
    await home.write("config.json", { ...good, agents: [entry("two")] });
    await until(() => ids(store.current)[0] === "two", "the reload");
  });

  it("keeps a running agent whose entry breaks, and applies the rest", async () => {
    const home = await tempHome(good);
    const store = await home.open();
    await home.write("config.json", {
      ...good,
      agents: [{ ...entry("one"), name: "${GONE}" }, entry("two")],
    });
    await until(() => store.current.agents.length === 2, "the reload");
    expect(ids(store.current).sort()).toEqual(["one", "two"]);
    expect(home.log.text()).toContain("GONE");
  });

  it("reads .env files again, which a touch of the file is enough for", async () => {
    const home = await tempHome({ ...good, agents: [{ ...entry("one"), env: { A: "${A}" } }] });
    await home.write("agents/one/.env", "A=1\n");
    const store = await home.open();
    expect(store.current.agents[0]!.env).toEqual({ A: "1" });
    await home.write("agents/one/.env", "A=2\n");
    await utimes(home.paths.configFile, 1, 1);
    await until(() => store.current.agents[0]!.env.A === "2", "the reload");
  });

  it("leaves port, bind and publicUrl for the next start and says so", async () => {
    const home = await tempHome(good);
    const store = await home.open();
    const gateway = { port: 1, bind: "0.0.0.0", publicUrl: "https://x.example/gateway", headless: false };
    await home.write("config.json", { ...good, gateway });
    await until(() => !store.current.gateway.headless, "the reload");
    expect(store.current.gateway).toMatchObject({ port: 0, bind: "127.0.0.1" });
    expect(store.current.gateway.publicUrl).toBeUndefined();
    expect(home.log.text()).toContain("gateway.publicUrl has changed; it applies after a restart");
  });
});

describe("orchestration in the file", () => {
  const terminal = { port: 0, headless: false };
  const on = { ...good, gateway: { ...terminal, orchestration: { enabled: true } } };
  const headless = async (home: Awaited<ReturnType<typeof tempHome>>) =>
    JSON.parse(await readFile(home.paths.configFile, "utf8")).gateway.headless as unknown;

  it("sets headless, also in the file, at a start and when it comes later, and leaves it when it goes [CONF-HEADLESS-1]", async () => {
    const first = await tempHome(on);
    const started = await first.open();
    await until(() => started.current.gateway.headless, "the mode at the start");
    expect(await headless(first)).toBe(true);

    const home = await tempHome({ ...good, gateway: terminal });
    const store = await home.open();
    expect(store.current.gateway.headless).toBe(false);
    await home.write("config.json", on);
    await until(() => store.current.gateway.headless, "the mode after the change");
    expect(await headless(home)).toBe(true);
    await store.update((raw) => {
      (raw.gateway as { orchestration: unknown }).orchestration = { enabled: false };
    });
    expect(await headless(home)).toBe(true);
  });
});

describe("update", () => {
  it("writes, applies and keeps unknown keys, order, indentation and mode [CONF-7]", async () => {
    const text = '{\n    "zzz": {"b": 1, "a": [1]},\n    "agents": [],\n    "gateway": {"port": 0}\n}\n';
    const home = await tempHome();
    await home.write("config.json", text, 0o640);
    const store = await home.open();
    const changes: string[][] = [];
    store.onChange((next) => changes.push(ids(next)));
    const config = await store.update((raw) => void (raw.agents as unknown[]).push(entry("new")));
    expect(ids(config)).toEqual(["new"]);
    const after = await readFile(home.paths.configFile, "utf8");
    expect(after).toMatch(/^\{\n {4}"zzz": \{\n {8}"b": 1,\n {8}"a"/);
    expect(Object.keys(JSON.parse(after))).toEqual(["zzz", "agents", "gateway"]);
    expect((await stat(home.paths.configFile)).mode & 0o777).toBe(0o640);
    // What the store wrote itself is no change from outside.
    await home.write("config.json", after.replace("new", "newer"));
    await until(() => changes.length > 1, "the change from outside");
    expect(changes).toEqual([["new"], ["newer"]]);
  });

  it("refuses and writes nothing when the result would not load, or an agent would be lost", async () => {
    const home = await tempHome({ ...good, agents: [entry("one"), { id: "Broken" }] });
    const store = await home.open();
    const text = await readFile(home.paths.configFile, "utf8");
    const edits: ((raw: Record<string, unknown>) => void)[] = [
      (raw) => Object.assign(raw.gateway as object, { bind: 7 }),
      (raw) => void (raw.agents as unknown[]).push({ id: "two", botchat: { botToken: "${NOT_SET}" } }),
      (raw) => void (raw.agents as unknown[]).push(entry("one")),
    ];
    for (const edit of edits) {
      await expect(store.update(edit)).rejects.toMatchObject({ code: "INVALID_REQUEST" });
    }
    await expect(
      store.update(() => {
        throw new Error("no");
      }),
    ).rejects.toThrow("no");
    expect(await readFile(home.paths.configFile, "utf8")).toBe(text);
    expect(ids(await store.update((raw) => void (raw.agents as unknown[]).push(entry("two"))))).toEqual([
      "one",
      "two",
    ]);
  });

  it("loses none of many that come at once, nor what was edited by hand before", async () => {
    const home = await tempHome(good);
    const store = await home.open();
    await home.write("config.json", { ...good, byHand: true });
    const names = Array.from({ length: 25 }, (_, index) => `agent${index}`);
    await Promise.all(
      names.map((id) => store.update((raw) => void (raw.agents as unknown[]).push(entry(id)))),
    );
    expect(ids(store.current)).toEqual(["one", ...names]);
    expect(JSON.parse(await readFile(home.paths.configFile, "utf8"))).toMatchObject({ byHand: true });
  });

  it("writes through a symbolic link", async () => {
    const home = await tempHome();
    const real = join(await tempFolder(), "real.json");
    await writeFile(real, JSON.stringify(good));
    await symlink(real, home.paths.configFile);
    const store = await home.open();
    await store.update((raw) => void (raw.agents as unknown[]).push(entry("two")));
    expect(JSON.parse(await readFile(real, "utf8")).agents).toHaveLength(2);
    await writeFile(real, JSON.stringify({ ...good, agents: [entry("three")] }));
    await until(() => ids(store.current)[0] === "three", "the reload through the link");
  });

  it("tells the secrets before the listeners can log", async () => {
    const home = await tempHome({ ...good, gateway: { api: { keys: [{ key: "${K}", agents: "*" }] } } });
    await home.write(".env", "K=the-secret\n");
    const told = new Set<string>();
    const store = await createConfigStore({
      paths: home.paths,
      env: {},
      clock: systemClock,
      log: home.log,
      onSecrets: (values) => {
        for (const value of values) told.add(value);
      },
    });
    expect(told).toContain("the-secret");
    await store.close();
  });
});
