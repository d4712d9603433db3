import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { silentLogger } from "../../../packages/gateway/src/lib/logger.ts";
import { createRoom } from "../../../packages/gateway/src/packages/room.ts";
import { createGatewayUpdate } from "../../../packages/gateway/src/packages/update-gateway.ts";
import { CLI_PACKAGE, type FakeNpm, fakeNpm, type NpmState } from "../../fixtures/fake-npm.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";
import { alive, until } from "../../harness.ts";

const SECRET = "a-very-secret-value";
let npm: FakeNpm;
let home: string;
beforeAll(async () => {
  npm = await fakeNpm();
  home = await mkdtemp(join(tmpdir(), "agent-gateway-packages-"));
});
afterAll(async () => {
  await npm.remove();
  await rm(home, { recursive: true, force: true });
});
beforeEach(() => npm.reset());

function rig(version = "1.2.0", env: Record<string, string> = {}) {
  const clock = manualClock();
  const updated: unknown[] = [];
  const room = createRoom({
    names: () => ({ gateway: "agent-gateway", agentCli: CLI_PACKAGE }),
    env: {
      PATH: npm.path,
      GATEWAY_HOME: "/not/this/one",
      GATEWAY_ADMIN_KEY: "k",
      ANTHROPIC_API_KEY: "k",
      npm_config_cache: "/tmp/c",
      ...env,
    },
    home,
    configFile: join(home, "other.json"),
    tempDir: join(home, "run/packs"),
    noteFile: join(home, "run/update.json"),
    version,
    mask: (text) => text.replaceAll(SECRET, "[redacted]"),
    onUpdated: (update) => updated.push(update),
    clock,
    log: silentLogger,
  });
  return { room, clock, updated };
}
const error = (task: Promise<unknown>) =>
  task.then(
    () => expect.fail("it should have failed"),
    ({ code, status, message, extra }) => ({ code, status, message, ...extra }),
  );
const installed = async () => (await npm.state()).installed["agent-gateway"];

describe("the list", () => {
  it("tells what is installed, newest and running, by exactly these calls [PKG-1]", async () => {
    const { room } = rig("1.1.0");
    expect(await room.list(false)).toEqual([
      { package: "gateway", current: "1.2.0", latest: "1.3.0", hasUpdate: true, running: "1.1.0" },
      { package: "agent-cli", current: "2.0.9", latest: "2.1.0", hasUpdate: true },
    ]);
    const calls = npm.calls().map(({ program, args }) => [program, ...args].join(" "));
    expect(calls.sort()).toEqual([
      "claude --version",
      "npm ls -g --depth=0 --json",
      `npm view ${CLI_PACKAGE} version --json`,
      "npm view agent-gateway version --json",
    ]);
  });

  it("is kept for five minutes and shared, unless a refresh is asked for [PKG-1]", async () => {
    const { room, clock } = rig();
    const views = () => npm.said("view agent-gateway").length;
    const [one, two] = await Promise.all([room.list(false), room.list(false)]);
    expect(one).toBe(two);
    await npm.reset({ latest: { "agent-gateway": "1.2.0", [CLI_PACKAGE]: "2.0.9" } });
    clock.advance(299_000);
    expect(await room.list(false)).toBe(one);
    expect(views()).toBe(0);
    expect(await room.list(true)).toMatchObject([{ hasUpdate: false }, { hasUpdate: false }]);
    expect(views()).toBe(1);
    clock.advance(301_000);
    await room.list(false);
    expect(views()).toBe(2);
  });

  it("takes the last of several versions, and finds no update where nothing is installed [PKG-2]", async () => {
    const latest = { "agent-gateway": ["1.0.0", "1.4.0"], [CLI_PACKAGE]: "2.1.0" };
    await npm.reset({ latest, installed: { other: "1.0.0" }, modes: { "claude --version": "fail" } });
    expect(await rig().room.list(false)).toEqual([
      { package: "gateway", current: null, latest: "1.4.0", hasUpdate: false, running: "1.2.0" },
      { package: "agent-cli", current: null, latest: "2.1.0", hasUpdate: false },
    ]);
    await npm.reset({ modes: { ls: "garbage", "claude --version": "garbage" } });
    expect(await rig().room.list(false)).toMatchObject([{ current: null }, { current: null }]);
  });

  it.each(["fail", "garbage", "flood"])(
    "is 503 when npm's view answers with %s, and is not kept [PKG-2]",
    async (mode) => {
      await npm.reset({ modes: { view: [mode, mode, "ok"] } });
      const { room } = rig();
      expect(await error(room.list(false))).toMatchObject({ code: "UPSTREAM_UNAVAILABLE", status: 503 });
      await npm.reset();
      expect(await room.list(false)).toHaveLength(2);
    },
  );

  it("is 503 when npm is not there or takes longer than 15 s [PKG-2]", async () => {
    const missing = await error(rig("1.2.0", { PATH: home }).room.list(false));
    expect(missing).toMatchObject({ code: "UPSTREAM_UNAVAILABLE", status: 503 });
    expect(missing.message).toBe(
      "The package registry could not be asked about agent-gateway: npm was not found.",
    );
    await npm.reset({ modes: { view: "hang" } });
    const { room, clock } = rig();
    const listed = error(room.list(false));
    await until(() => npm.said("view").length === 2, "npm to be asked");
    clock.advance(15_000);
    expect(await listed).toMatchObject({ code: "UPSTREAM_UNAVAILABLE", status: 503 });
    for (const { pid } of npm.calls()) await until(() => !alive(pid), "npm to be gone");
  });
});

describe("a changelog", () => {
  const changelog = "# Log\n## 1.3.0 - 2026-01-02\n- new\n## 1.2.0\n- old\n## 1.1.0\n- older\n";

  it("is packed for the newest version and kept for an hour [PKG-3]", async () => {
    await npm.reset({ changelog });
    const { room, clock } = rig();
    expect(await room.changelog("gateway", {})).toEqual({
      package: "gateway",
      from: "1.2.0",
      to: "1.3.0",
      entries: [{ version: "1.3.0", date: "2026-01-02", notes: "- new" }],
    });
    expect((await room.changelog("gateway", { from: "1.0.0" })).entries).toHaveLength(3);
    expect(npm.said("pack")).toHaveLength(1);
    expect(npm.said("pack")[0]).toMatch(/^pack agent-gateway@1\.3\.0 --json --pack-destination \//);
    expect(existsSync(npm.said("pack")[0]!.split(" ").at(-1)!)).toBe(false);
    clock.advance(3_601_000);
    await room.changelog("gateway", {});
    expect(npm.said("pack")).toHaveLength(2);
  });

  it("asks npm only for what it does not know, and refuses what is no version [PKG-3]", async () => {
    await npm.reset({ changelog });
    const { room } = rig();
    expect((await room.changelog("gateway", { from: "1.1.0", to: "1.2.0" })).entries).toMatchObject([
      { version: "1.2.0" },
    ]);
    expect(npm.said("view")).toEqual([]);
    for (const asked of [{ from: "one" }, { to: "latest" }, { to: "-x" }, { from: "1.2.0", to: "1.1.0" }]) {
      expect(await error(room.changelog("gateway", asked))).toMatchObject({ code: "INVALID_REQUEST" });
    }
    await npm.reset({ modes: { pack: "unknown" } });
    expect(await error(room.changelog("gateway", { from: "1.0.0", to: "9.9.9" }))).toMatchObject({
      code: "NOT_FOUND",
    });
  });

  it("is empty without a file, and 503 when npm packs nothing of use [PKG-3]", async () => {
    const { room } = rig();
    expect((await room.changelog("agent-cli", {})).entries).toEqual([]);
    for (const mode of ["fail", "damaged"]) {
      await npm.reset({ modes: { pack: mode } });
      const asked = room.changelog("gateway", { from: "1.0.0", to: mode === "fail" ? "1.5.0" : "1.6.0" });
      expect(await error(asked)).toMatchObject({ code: "UPSTREAM_UNAVAILABLE", status: 503 });
    }
  });
});

describe("an update of the gateway", () => {
  it("is installed, looked at and tried on the running configuration [PKG-4, PKG-10]", async () => {
    const { room, updated } = rig("1.2.0", { INVOCATION_ID: "unit" });
    await room.list(false);
    const result = await room.update("gateway");
    const told = { package: "gateway", from: "1.2.0", to: "1.3.0" };
    expect(result).toEqual({ ...told, updated: true, warning: "service will restart" });
    expect(updated).toEqual([told]);
    expect(npm.said("install")).toEqual(["install -g agent-gateway@1.3.0"]);
    expect(npm.checks()).toEqual([
      `1.3.0 config check home=${home} config=${join(home, "other.json")} key=k`,
    ]);
    for (const { args, env } of npm.calls()) {
      const withoutScripts = args[0] === "install" ? ["npm_config_ignore_scripts"] : [];
      expect(env).toEqual(["npm_config_cache", ...withoutScripts]);
    }
    expect(await room.list(false)).toMatchObject([{ current: "1.3.0", running: "1.2.0" }, {}]);
    // The process is about to end.
    expect(await error(room.update("gateway"))).toMatchObject({ code: "CONFLICT" });
    expect(existsSync(join(home, "run/update.json"))).toBe(false);
  });

  it("is a no-op when there is no newer version, and installs where none was [PKG-4]", async () => {
    await npm.reset({ installed: { "agent-gateway": "1.4.0-rc.1" } });
    expect(await rig().room.update("gateway")).toEqual({
      package: "gateway",
      from: "1.4.0-rc.1",
      to: "1.4.0-rc.1",
      updated: false,
      warning: null,
    });
    expect(npm.said("install")).toEqual([]);
    await npm.reset({ installed: {} });
    expect(await rig().room.update("gateway")).toMatchObject({
      from: null,
      to: "1.3.0",
      warning: "process will stop — restart manually",
    });
  });

  it.each<[string, Partial<NpmState>]>([
    ["installing fails", { modes: { install: ["fail", "ok"] } }],
    ["installing takes the old version away", { modes: { install: ["vanish", "ok"] } }],
    ["npm shows no list afterwards", { modes: { ls: ["ok", "garbage", "ok"] } }],
    ["npm shows another version afterwards", { modes: { install: ["garbage", "ok"] } }],
    ["npm gives no prefix", { modes: { prefix: "garbage" } }],
    ["asking for the prefix fails", { modes: { prefix: "fail" } }],
    ["the new version refuses the configuration", { check: { "1.3.0": `echo ${SECRET} is wrong; exit 1` } }],
    ["the new version is killed", { check: { "1.3.0": "kill -9 $$" } }],
    ["the new version prints 100 MB", { check: { "1.3.0": "head -c 100000000 /dev/zero; exit 3" } }],
    ["installing prints 100 MB and fails", { modes: { install: ["flood", "ok"], prefix: "fail" } }],
  ])("is undone when %s [PKG-5, PKG-9]", async (_what, state) => {
    await npm.reset({ ...state, secret: SECRET });
    const { room, updated } = rig();
    const failure = await error(room.update("gateway"));
    expect(failure).toMatchObject({ code: "INSTALL_FAILED", status: 500, stderr: expect.any(String) });
    expect(failure.message).toMatch(
      /^Version 1\.3\.0 could not be installed: .*\. Version 1\.2\.0 is in place again\.$/,
    );
    expect(JSON.stringify(failure)).not.toContain(SECRET);
    expect(Buffer.byteLength(failure.stderr)).toBeLessThanOrEqual(4096);
    expect(await installed()).toBe("1.2.0");
    expect(npm.said("install").at(-1)).toBe("install -g agent-gateway@1.2.0");
    expect(updated).toEqual([]);
    expect(existsSync(join(home, "run/update.json"))).toBe(false);
  });

  it("shows what the failing program said [PKG-9]", async () => {
    await npm.reset({ check: { "1.3.0": "echo error: agents is wrong; echo it has errors >&2; exit 1" } });
    const { stderr, message } = await error(rig().room.update("gateway"));
    expect(stderr).toContain("error: agents is wrong");
    expect(stderr).toContain("it has errors");
    expect(message).toContain("its `config check` ended with exit code 1");
  });

  it("is undone when it would take away the Node.js that the gateway runs with [PKG-5]", async () => {
    const installs: string[] = [];
    const ran = { code: 0, stdout: "", stderr: "", tail: "" };
    const update = createGatewayUpdate({
      npm: {
        latest: () => expect.fail(),
        changelog: () => expect.fail(),
        installed: async () => installs.at(-1) ?? null,
        prefix: async () => "/prefix",
        async install(_name, version) {
          installs.push(version);
          return ran;
        },
      },
      run: async () => ran,
      note: { begin: async () => {}, read: async () => null, remove: async () => {} },
      checkEnv: {},
      execPath: join(home, "gone"),
    });
    expect((await update("agent-gateway", "1.0.0", "1.1.0"))?.reason).toBe(
      "Version 1.1.0 could not be installed: the Node.js that the gateway runs with is gone. Version 1.0.0 is in place again.",
    );
    expect(installs).toEqual(["1.1.0", "1.0.0"]);
  });

  it("says so when the old version cannot be brought back [PKG-5]", async () => {
    await npm.reset({ modes: { install: "vanish" } });
    expect((await error(rig().room.update("gateway"))).message).toContain(
      "Version 1.2.0 could not be brought back: run `npm install -g agent-gateway@1.2.0`",
    );
    await npm.reset({ installed: {}, modes: { install: "fail" } });
    expect((await error(rig().room.update("gateway"))).message).toBe(
      "Version 1.3.0 could not be installed: npm ended with exit code 1.",
    );
  });

  it("changes nothing where npm does not say what is installed [PKG-5]", async () => {
    await npm.reset({ modes: { ls: "garbage" } });
    expect(await error(rig().room.update("gateway"))).toMatchObject({ code: "INSTALL_FAILED" });
    await npm.reset({ modes: { view: "fail" } });
    expect(await error(rig().room.update("gateway"))).toMatchObject({ status: 503 });
    expect(npm.said("install")).toEqual([]);
  });

  it("is undone when npm or the new version hangs; npm is asked to stop before it is killed [PKG-5]", async () => {
    await npm.reset({ modes: { install: ["hang", "ok"] }, check: { "1.3.0": "sleep 600" } });
    const { room, clock } = rig();
    const failure = error(room.update("gateway"));
    await until(() => npm.said("install").length === 1, "npm to install");
    const { pid } = npm.calls().at(-1)!;
    expect(await error(room.update("agent-cli"))).toMatchObject({ code: "CONFLICT" });
    clock.advance(600_000);
    expect(alive(pid)).toBe(true);
    clock.advance(10_000);
    expect((await failure).message).toContain("npm took too long. Version 1.2.0 is in place again.");

    await npm.reset({ check: { "1.3.0": "sleep 600" } });
    const second = error(room.update("gateway"));
    await until(() => npm.checks().length === 1, "the new version to be tried");
    clock.advance(15_000);
    expect((await second).message).toContain("its `config check` took too long. Version 1.2.0 is in place");
  });
});

describe("an update that an earlier gateway began", () => {
  it("is told of by the version that it installed, and makes others wait while it is installing [PKG-8]", async () => {
    await npm.reset({ modes: { install: "slow" } });
    const killed = rig();
    const abandoned = killed.room.update("gateway");
    const begun = () => existsSync(join(home, "run/update.json")) && npm.said("install").length > 0;
    await until(begun, "the update to begin");
    const note = JSON.parse(await readFile(join(home, "run/update.json"), "utf8"));
    expect(note).toMatchObject({ from: "1.2.0", to: "1.3.0", installer: { pid: npm.calls().at(-1)!.pid } });

    const next = rig("1.3.0");
    await next.room.recover();
    expect(next.updated).toEqual([]);
    expect(await error(next.room.update("gateway"))).toMatchObject({ code: "CONFLICT" });
    expect(npm.said("install")).toHaveLength(1);
    // What npm does is the same for both; the first gateway would have been dead by now.
    await npm.go();
    await until(() => !alive(note.installer.pid), "npm to end");
    await next.room.recover();
    expect(next.updated).toEqual([{ package: "gateway", from: "1.2.0", to: "1.3.0" }]);
    await next.room.recover();
    expect(next.updated).toHaveLength(1);
    expect(await next.room.update("gateway")).toMatchObject({ updated: false });
    await abandoned;
  });
});

describe("an update of the agent CLI", () => {
  it("is done by its own updater, and tells what came of it [PKG-6]", async () => {
    const { room, updated } = rig();
    const told = { package: "agent-cli", from: "2.0.9", to: "2.1.0" };
    expect(await room.update("agent-cli")).toEqual({ ...told, updated: true, warning: null });
    expect(updated).toEqual([told]);
    expect(npm.said("update")).toEqual(["update"]);
    expect(await room.update("agent-cli")).toMatchObject({ from: "2.1.0", to: "2.1.0", updated: false });
    expect(npm.said("update")).toHaveLength(1);
    await npm.reset({ modes: { "claude update": "stay" } });
    expect(await room.update("agent-cli")).toMatchObject({ to: "2.0.9", updated: false, warning: null });
    expect(updated).toHaveLength(1);
  });

  it("that fails, hangs or leaves none that answers is INSTALL_FAILED [PKG-6]", async () => {
    await npm.reset({ modes: { "claude update": "fail" }, secret: SECRET });
    const { room, clock } = rig();
    const failure = await error(room.update("agent-cli"));
    expect(failure).toMatchObject({ code: "INSTALL_FAILED", stderr: expect.stringContaining("[redacted]") });
    await npm.reset({ modes: { "claude --version": ["ok", "fail"] } });
    expect(await error(room.update("agent-cli"))).toMatchObject({ code: "INSTALL_FAILED" });
    await npm.reset({ modes: { "claude update": "hang" } });
    const hanging = error(room.update("agent-cli"));
    await until(() => npm.said("update").length === 1, "the updater to run");
    clock.advance(600_000);
    clock.advance(10_000);
    expect((await hanging).message).toBe("The agent CLI could not be updated: its updater took too long.");
    await npm.reset();
    await rm(join(npm.folder, "claude"));
    expect(await error(room.update("agent-cli"))).toMatchObject({ code: "INSTALL_FAILED" });
  });
});
