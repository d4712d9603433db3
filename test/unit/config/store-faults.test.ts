import { mkdir, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  ConfigFileError,
  createConfigStore,
  createPaths,
  type Paths,
  type Problem,
} from "../../../packages/gateway/src/config/index.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";
import { recordingLogger, type TempHome, tempHome } from "../../fixtures/temp-home.ts";
import { until } from "../../harness.ts";

const entry = (id: string) => ({ id, runtime: { type: "starter" } });
const good = { configVersion: "2.0.0", gateway: { port: 0 }, agents: [entry("one")] };
const old = { configVersion: "1.0.12", gateway: { port: 0 }, agents: [entry("one")] };
type Raw = Record<string, unknown>;

/** Opens a store whose time goes on only where the test says so. */
async function open(home: TempHome, paths: Paths = home.paths) {
  const clock = manualClock();
  const log = recordingLogger();
  const store = await createConfigStore({ paths, env: {}, clock, log });
  onTestFinished(() => store.close());
  const reloads: (readonly Problem[])[] = [];
  const unread = store.onReload((errors) => void reloads.push(errors));
  return {
    store,
    clock,
    log,
    reloads,
    unread,
    count: (text: string) => log.lines.filter(({ message }) => message.includes(text)).length,
    /** Puts another file in the place of the configuration, and waits until it was read. */
    async replace(content: unknown): Promise<void> {
      const before = reloads.length;
      await rename(await home.write("other.json", content), paths.configFile);
      await until(() => {
        clock.advance(2000);
        return reloads.length > before;
      }, "the reload");
    },
  };
}
const files = async (home: TempHome) => (await readdir(home.paths.home)).sort();
const textOf = (file: string) => readFile(file, "utf8");
const parsed = async (file: string) => JSON.parse(await textOf(file)) as Raw;

describe("what is written", () => {
  it("is only a private copy at a start, and only when it differs", async () => {
    const home = await tempHome(good);
    const before = await stat(home.paths.configFile, { bigint: true });
    const copy = join(home.paths.home, "config.last-good.json");
    await (await open(home)).store.close();
    expect(await files(home)).toEqual(["config.json", "config.last-good.json"]);
    expect((await stat(copy)).mode & 0o777).toBe(0o600);
    const first = await stat(copy, { bigint: true });
    const { store } = await open(home);
    await store.update(() => {});
    expect((await stat(copy, { bigint: true })).ino).toBe(first.ino);
    expect((await stat(home.paths.configFile, { bigint: true })).ino).toBe(before.ino);
  });

  it("is the text of the file word for word in the copy, which becomes its owner's alone", async () => {
    const text = '{"agents":[],\n   "gateway" : {"port":0}}';
    const home = await tempHome(text);
    const copy = await home.write("config.last-good.json", "{}", 0o644);
    const { store } = await open(home);
    expect(await textOf(copy)).toBe(text);
    expect((await stat(copy)).mode & 0o777).toBe(0o600);
    await store.update((raw) => void (raw.agents as unknown[]).push(entry("two")));
    expect(await textOf(copy)).toBe(await textOf(home.paths.configFile));
    expect(await files(home)).toEqual(["config.json", "config.last-good.json"]);
  });

  it("is nothing beside the copy when the file changes, unless it is older [CONF-6]", async () => {
    const home = await tempHome(good);
    const { store, replace } = await open(home);
    await replace({ ...good, agents: [entry("two")] });
    expect(await files(home)).toEqual(["config.json", "config.last-good.json"]);
    await replace(old);
    expect(store.current.agents.map(({ id }) => id)).toEqual(["one"]);
    expect(await parsed(`${home.paths.configFile}.bak-1.0.12`)).toEqual(old);
    expect(await parsed(home.paths.configFile)).toMatchObject({ configVersion: "2.0.0" });
  });

  it("keeps the old file also when a change comes before it was read [CONF-6]", async () => {
    const home = await tempHome(good);
    const { store } = await open(home);
    await home.write("config.json", old);
    await store.update((raw) => void (raw.agents as unknown[]).push(entry("two")));
    expect(await parsed(`${home.paths.configFile}.bak-1.0.12`)).toEqual(old);
    expect(await parsed(home.paths.configFile)).toMatchObject({ configVersion: "2.0.0" });
  });

  it("never replaces an old file that was kept before [CONF-6]", async () => {
    const home = await tempHome(old);
    const kept = await home.write("config.json.bak-1.0.12", "the first one");
    await open(home);
    expect(await textOf(kept)).toBe("the first one");
    expect(await parsed(home.paths.configFile)).toMatchObject({ configVersion: "2.0.0" });
  });
});

describe("a disk that takes nothing", () => {
  /** A configuration whose name leaves `room` characters for names beside it that begin with it. */
  async function named(config: unknown, room: number) {
    const home = await tempHome();
    const file = await home.write("c".repeat(255 - room), config);
    return { home, paths: createPaths({ GATEWAY_HOME: home.paths.home, GATEWAY_CONFIG: file }) };
  }

  it("leaves an older file as it is, and starts with what it says", async () => {
    const { home, paths } = await named(old, 5);
    const { store } = await open(home, paths);
    expect(store.current.gateway.bind).toBe("0.0.0.0");
    expect(await parsed(paths.configFile)).toEqual(old);
  });

  it("leaves an older file as it is where no copy of it could be kept [CONF-6]", async () => {
    const older = { ...old, configVersion: "0.100000.100000" };
    const { home, paths } = await named(older, ".bak-0.100000.100000".length - 1);
    await open(home, paths);
    expect(await parsed(paths.configFile)).toEqual(older);
  });

  it("refuses a change, and the running configuration stays", async () => {
    const { home, paths } = await named(good, 5);
    const { store } = await open(home, paths);
    const before = store.current;
    const change = store.update((raw) => void (raw.agents as unknown[]).push(entry("two")));
    await expect(change).rejects.toMatchObject({
      code: "INTERNAL",
      message: "Could not write the configuration file.",
    });
    expect(store.current).toBe(before);
    expect(await parsed(paths.configFile)).toEqual(good);
    expect((await files(home)).sort()).toEqual([basename(paths.configFile), "config.last-good.json"]);
  });

  it("prevents no start and no change when only the copy cannot be saved", async () => {
    const home = await tempHome(good);
    await mkdir(join(home.paths.home, "config.last-good.json", "x"), { recursive: true });
    const { store } = await open(home);
    const after = await store.update((raw) => void (raw.agents as unknown[]).push(entry("two")));
    expect(after.agents).toHaveLength(2);
  });
});

describe("a change that is refused", () => {
  const details = async (
    store: { update(edit: (raw: Raw) => void): Promise<unknown> },
    edit: (raw: Raw) => void,
  ) => {
    const refused = await store.update(edit).catch((error: unknown) => error);
    expect(refused).toMatchObject({
      code: "INVALID_REQUEST",
      message: "This change would make the configuration invalid.",
    });
    return (refused as { details: unknown }).details;
  };

  it("names each error with its place, and no warning", async () => {
    const home = await tempHome({ ...good, unknown: 1, agents: [entry("one"), { id: "Broken" }, 7] });
    const { store } = await open(home);
    const wrongBind = (raw: Raw) => void Object.assign(raw.gateway as object, { bind: 7 });
    expect(await details(store, wrongBind)).toEqual([{ path: "gateway.bind", message: expect.any(String) }]);
    const add = (value: unknown) => (raw: Raw) => void (raw.agents as unknown[]).push(value);
    expect(await details(store, add({ id: "two", model: "" }))).toEqual([
      { path: "agents.3.model", message: expect.any(String) },
    ]);
    expect(await details(store, add(entry("one")))).toEqual([
      { path: "agents.3", message: "another agent has this id" },
    ]);
  });

  it("is not refused for entries that were broken before, wherever they are now", async () => {
    const home = await tempHome({ ...good, agents: [entry("one"), entry("two"), 7, { id: "x", model: 1 }] });
    const { store } = await open(home);
    const after = await store.update((raw) => void (raw.agents as unknown[]).shift());
    expect(after.agents.map(({ id }) => id)).toEqual(["two"]);
  });

  it("may mend a file that broke by hand, but not leave it broken", async () => {
    const home = await tempHome(good);
    const { store } = await open(home);
    const broken = { ...good, gateway: { port: "x" }, agents: [entry("one"), { id: "y", model: 1 }] };
    await home.write("config.json", broken);
    await expect(store.update((raw) => void Object.assign(raw, { note: 1 }))).rejects.toMatchObject({
      code: "CONFLICT",
    });
    expect(await parsed(home.paths.configFile)).toEqual(broken);
    await store.update((raw) => void Object.assign(raw, { gateway: { port: 0 } }));
    expect(await parsed(home.paths.configFile)).toEqual({ ...broken, gateway: { port: 0 } });
  });

  it.each(["[]", "{", null])("is one of a file that cannot be changed: %s", async (text) => {
    const home = await tempHome(good);
    const { store } = await open(home);
    if (text === null) await rm(home.paths.configFile);
    else await home.write("config.json", text);
    await expect(store.update(() => {})).rejects.toMatchObject({
      code: "CONFLICT",
      message: "The configuration file is broken; fix it before changing it here.",
    });
  });
});

describe("who listens", () => {
  it("hears of a refused file with its errors alone, then of a good one with none", async () => {
    const home = await tempHome(good);
    const { reloads, replace, unread, store, clock } = await open(home);
    await replace({ ...good, unknown: 1, session: { maxConcurrent: 0 } });
    await replace({ ...good, unknown: 1 });
    expect(reloads).toEqual([
      [{ level: "error", path: "session.maxConcurrent", message: expect.any(String) }],
      [],
    ]);
    const others: unknown[] = [];
    store.onReload((errors) => others.push(errors));
    unread();
    await rename(await home.write("other.json", good), home.paths.configFile);
    await until(() => {
      clock.advance(2000);
      return others.length > 0;
    }, "the reload");
    expect(reloads).toHaveLength(2);
  });

  it("hears of a change although another one fails, and nothing after it has left", async () => {
    const { store } = await open(await tempHome(good));
    const heard: string[] = [];
    store.onChange(() => {
      throw new Error("mine");
    });
    const leave = store.onChange((next) => heard.push(next.agents.at(-1)!.id));
    const add = (id: string) => store.update((raw) => void (raw.agents as unknown[]).push(entry(id)));
    await add("two");
    leave();
    expect((await add("three")).agents).toHaveLength(3);
    expect(heard).toEqual(["two"]);
  });

  it("can log nothing that is secret, because the secrets of a change are told before", async () => {
    const home = await tempHome(good);
    const told: string[] = [];
    const onSecrets = (values: Iterable<string>) => void told.push(...values);
    const options = { paths: home.paths, env: {}, clock: manualClock(), log: recordingLogger() };
    const store = await createConfigStore({ ...options, onSecrets });
    onTestFinished(() => store.close());
    expect(told).toEqual([]);
    let known: string[] = [];
    store.onChange(() => {
      known = [...told];
    });
    await store.update(
      (raw) => void Object.assign(raw, { agents: [{ ...entry("one"), botchat: { botToken: "tok" } }] }),
    );
    expect(known).toEqual(["tok"]);
  });

  it("hears nothing of a file that says the same, or that changes only what waits for a restart", async () => {
    const home = await tempHome({ ...good, gateway: { port: 0, oauthReturnUrl: "https://a.example/" } });
    const { store, replace, count } = await open(home);
    let changes = 0;
    store.onChange(() => changes++);
    await replace(JSON.stringify({ ...good, gateway: { port: 0, oauthReturnUrl: "https://a.example/" } }));
    expect(count("after a restart")).toBe(0);
    await replace({ ...good, gateway: { port: 1, publicUrl: "https://b.example/gateway" } });
    expect(changes).toBe(0);
    expect(store.current.gateway).toMatchObject({ port: 0, oauthReturnUrl: "https://a.example/" });
    expect(store.current.gateway).not.toHaveProperty("publicUrl");
    expect(count("after a restart")).toBe(3);
  });

  it("hears of a running agent once where the file has a broken and a good entry for it", async () => {
    const home = await tempHome(good);
    const { store, replace } = await open(home);
    await replace({
      ...good,
      agents: [{ id: "one", model: 1 }, { ...entry("one"), name: "New" }, entry("two")],
    });
    expect(store.current.agents.map(({ id, name }) => [id, name])).toEqual([
      ["one", "New"],
      ["two", "two"],
    ]);
  });

  it("hears of no reload of a file that nobody changed, nor of one that is gone for a while", async () => {
    const home = await tempHome(good);
    const { store, clock, reloads, replace } = await open(home);
    const looks = async () => {
      for (let turn = 0; turn < 20; turn++) {
        clock.advance(2000);
        await stat(home.paths.home);
        await store.update(() => {}).catch(() => {});
      }
    };
    await looks();
    await rm(home.paths.configFile);
    await looks();
    expect(reloads).toEqual([]);
    expect(store.current.agents).toHaveLength(1);
    await replace({ ...good, agents: [] });
    expect(reloads).toEqual([[]]);
  });

  it("has nothing under way once the store is closed", async () => {
    const { store, clock } = await open(await tempHome(good));
    let done = false;
    const change = store.update(async (raw) => {
      await stat(".");
      (raw.agents as unknown[]).push(entry("two"));
    });
    void change.then(() => {
      done = true;
    });
    await store.close();
    expect(done).toBe(true);
    expect(clock.timers()).toBe(0);
  });
});

describe("what the log says", () => {
  it("is each problem once for as long as it lasts, errors as errors", async () => {
    const home = await tempHome({ ...good, unknown: 1, agents: [entry("one"), { id: "x", model: 1 }] });
    const { log, replace, count } = await open(home);
    const level = (text: string) => log.lines.find(({ message }) => message.includes(text))?.level;
    expect([level("unknown"), level('"x"')]).toEqual(["warn", "error"]);
    await replace({ ...good, unknown: 2 });
    expect([count("unknown"), count('"x"')]).toEqual([1, 1]);
    await replace(good);
    await replace({ ...good, unknown: 1 });
    expect(count("unknown")).toBe(2);
    await replace({ ...good, session: { maxConcurrent: 0 } });
    expect(level("session.maxConcurrent")).toBe("error");
  });

  it("is why the file is not used, before it says what is used in its place [CONF-4]", async () => {
    const home = await tempHome(good);
    await (await open(home)).store.close();
    await home.write("config.json", { ...good, unknown: 1, session: { maxConcurrent: 0 } });
    const { log } = await open(home);
    expect(log.lines.map(({ level, message }) => [level, message.split(":")[1]?.trim()])).toEqual([
      ["warn", "unknown"],
      ["error", "session.maxConcurrent"],
      ["error", expect.stringContaining("running with the last one that worked")],
    ]);
    expect(log.lines[2]?.fields.why).toMatch(/^session\.maxConcurrent: [^;]+$/);
  });

  it("ends a start with the errors alone, where nothing worked before [CONF-4]", async () => {
    const home = await tempHome({ unknown: 1, gateway: { port: "x", bind: 7 } });
    await home.write("config.last-good.json", { gateway: [] });
    const failure = (await open(home).catch((error: unknown) => error)) as ConfigFileError;
    expect(failure).toBeInstanceOf(ConfigFileError);
    expect(failure.message).toMatch(/^The configuration cannot be used: gateway\.port: .*; gateway\.bind: /);
    expect(failure.problems.map(({ path }) => path)).toEqual(["unknown", "gateway.port", "gateway.bind"]);
    await rm(home.paths.configFile);
    await mkdir(home.paths.configFile);
    await expect(open(home)).rejects.toThrow("it must be a regular file");
  });
});
