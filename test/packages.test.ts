import { access } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runCli } from "./fixtures/cli.ts";
import { type FakeNpm, fakeNpm } from "./fixtures/fake-npm.ts";
import { alive, type Gateway, KEYS, startGateway, until } from "./harness.ts";

const PACKAGES = "/api/v1/packages";
/** What the gateway under test says of itself. */
const RUNNING = "0.1.0";

let npm: FakeNpm;
let gateway: Gateway;
const start = (env: Record<string, string> = {}, home?: string) =>
  startGateway({
    env: { PATH: npm.path, AGENT_CLI_BIN: join(npm.folder, "claude"), ...env },
    ...(home !== undefined && { home }),
  });
const events = async () => {
  const { body } = await gateway.json("GET", "/api/v1/events?stream=false&types=package.*,gateway.*");
  return (body.events as { type: string; data: unknown }[]).map(({ type, data }) => ({ type, data }));
};
const updated = (from: string, to: string) => ({
  type: "package.updated",
  data: { package: "gateway", from, to },
});

beforeAll(async () => {
  npm = await fakeNpm();
  gateway = await start();
});
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  await npm.remove();
});

describe("packages", () => {
  it("are listed for admins, with what runs [PKG-1]", async () => {
    expect(await gateway.json("GET", PACKAGES)).toMatchObject({
      status: 200,
      body: {
        packages: [
          { package: "gateway", current: "1.2.0", latest: "1.3.0", hasUpdate: true, running: RUNNING },
          { package: "agent-cli", current: "2.0.9", latest: "2.1.0", hasUpdate: true },
        ],
      },
    });
    await gateway.json("GET", `${PACKAGES}?refresh=false`);
    expect(npm.said("view agent-gateway")).toHaveLength(1);
    await gateway.json("GET", `${PACKAGES}?refresh=true`);
    expect(npm.said("view agent-gateway")).toHaveLength(2);
    const refused = await gateway.json("GET", `${PACKAGES}?refresh=yes`);
    expect(refused).toMatchObject({ status: 400, body: { details: [{ path: "refresh" }] } });
  });

  it("that do not exist are 404 whatever the rest of the request says [PKG-7]", async () => {
    const cases = [
      ["GET", "other/changelog?from=x", undefined],
      ["POST", "other/update", { force: true }],
      ["POST", "GATEWAY/update", undefined],
    ] as const;
    for (const [method, path, body] of cases) {
      expect(await gateway.json(method, `${PACKAGES}/${path}`, { body }), path).toMatchObject({
        status: 404,
        body: { code: "NOT_FOUND" },
      });
    }
    const unknown = await gateway.json("POST", `${PACKAGES}/gateway/update`, { body: { force: true } });
    expect(unknown).toMatchObject({ status: 400, body: { code: "INVALID_REQUEST" } });
    const changelog = await gateway.json("GET", `${PACKAGES}/gateway/changelog?from=x`);
    expect(changelog).toMatchObject({ status: 400, body: { details: [{ path: "from" }] } });
    expect(npm.said("install")).toEqual([]);
  });

  it("are listed, described and updated by the command line [PKG-1, PKG-3, PKG-6]", async () => {
    await npm.reset({ changelog: "## [1.3.0] - 2026-02-03\n- new\n" });
    const env = { GATEWAY_URL: gateway.url, GATEWAY_API_KEY: KEYS.admin };
    const run = async (...args: string[]) => {
      const { code, stdout, stderr } = await runCli(["packages", ...args, "--json"], { env });
      expect([code, stderr]).toEqual([0, ""]);
      return JSON.parse(stdout);
    };
    expect(await run("list", "--refresh", "true")).toMatchObject({ packages: [{ hasUpdate: true }, {}] });
    expect(await run("changelog", "gateway", "--from", "1.0.0")).toEqual({
      package: "gateway",
      from: "1.0.0",
      to: "1.3.0",
      entries: [{ version: "1.3.0", date: "2026-02-03", notes: "- new" }],
    });
    const read = await runCli(["packages", "changelog", "gateway"], { env });
    expect(read).toMatchObject({ code: 0, stdout: "1.3.0 (2026-02-03)\n\n- new\n" });
    const nothing = await runCli(["packages", "changelog", "gateway", "--from", "1.3.0"], { env });
    expect(nothing.stdout).toBe("Nothing is described between 1.3.0 and 1.3.0.\n");
    expect((await runCli(["packages", "changelog"], { env })).code).toBe(2);
    expect(await run("update", "agent-cli")).toMatchObject({ from: "2.0.9", to: "2.1.0", updated: true });
  });

  it("that are being installed keep others waiting, and nothing else; a failure leaves all as it was [PKG-5, PKG-7, PKG-9]", async () => {
    const secret = KEYS.admin;
    await npm.reset({
      modes: { install: ["slow", "ok"] },
      secret,
      check: { "1.3.0": `echo ${secret}; exit 1` },
    });
    const first = gateway.json("POST", `${PACKAGES}/gateway/update`);
    await until(() => npm.said("install").length === 1, "npm to install");
    const second = await gateway.json("POST", `${PACKAGES}/agent-cli/update`);
    expect(second).toMatchObject({ status: 409, body: { code: "CONFLICT" } });
    expect((await gateway.send("SAY hello")).body.response).toBe("hello");
    await npm.go();
    const { status, body } = await first;
    expect(status).toBe(500);
    expect(body).toMatchObject({ code: "INSTALL_FAILED", stderr: "[redacted]\n" });
    expect((await npm.state()).installed).toEqual({ "agent-gateway": "1.2.0" });
    expect((await gateway.json("GET", "/health")).status).toBe(200);
    expect((await events()).filter(({ type }) => type === "package.updated")).toHaveLength(1);
  });

  it("end the gateway with 75 after its update, once the answer is out [PKG-4]", async () => {
    await npm.reset();
    const { status, body } = await gateway.json("POST", `${PACKAGES}/gateway/update`);
    expect(status).toBe(200);
    expect(body).toEqual({
      package: "gateway",
      from: "1.2.0",
      to: "1.3.0",
      updated: true,
      warning: "process will stop — restart manually",
    });
    await until(() => gateway.process.exitCode !== null, "the gateway to end");
    expect(gateway.process.exitCode).toBe(75);
    gateway = await start({ GATEWAY_SUPERVISED: "1" }, gateway.home);
    expect(await events()).toContainEqual(updated("1.2.0", "1.3.0"));
  });

  it("restart the gateway though nobody waits for the answer [PKG-4]", async () => {
    await npm.reset({ modes: { install: "slow" } });
    const gone = new AbortController();
    const asked = gateway.request("POST", `${PACKAGES}/gateway/update`, { signal: gone.signal });
    await until(() => npm.said("install").length === 1, "npm to install");
    gone.abort();
    await expect(asked).rejects.toThrow();
    await npm.go();
    await until(() => gateway.process.exitCode !== null, "the gateway to end");
    expect(gateway.process.exitCode).toBe(75);
  });

  it("are installed to the end when the gateway is killed; its next start tells so [PKG-8]", async () => {
    await npm.reset({
      latest: { "agent-gateway": RUNNING, "@anthropic-ai/claude-code": "2.1.0" },
      installed: { "agent-gateway": "0.0.9" },
      modes: { install: "slow" },
    });
    gateway = await start({}, gateway.home);
    void gateway.json("POST", `${PACKAGES}/gateway/update`).catch(() => {});
    const note = join(gateway.home, "run/update.json");
    const noted = () =>
      access(note).then(
        () => npm.said("install").length === 1,
        () => false,
      );
    await until(noted, "the update to be noted");
    const installer = npm.calls().at(-1)!.pid;
    await gateway.kill();
    expect(alive(installer)).toBe(true);

    gateway = await start({}, gateway.home);
    expect(await gateway.json("POST", `${PACKAGES}/gateway/update`)).toMatchObject({
      status: 409,
      body: { code: "CONFLICT" },
    });
    await npm.go();
    await until(() => !alive(installer), "npm to end");
    expect((await npm.state()).installed).toEqual({ "agent-gateway": RUNNING });
    await gateway.stop();
    gateway = await start({}, gateway.home);
    const told = () => events().then((all) => all.some(({ data }) => JSON.stringify(data).includes("0.0.9")));
    await until(told, "the update to be told");
    expect(await events()).toContainEqual(updated("0.0.9", RUNNING));
    await expect(access(note)).rejects.toThrow();
    expect(await gateway.json("POST", `${PACKAGES}/gateway/update`)).toMatchObject({
      body: { updated: false, warning: null },
    });
  });
});
