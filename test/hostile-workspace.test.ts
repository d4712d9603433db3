import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, link, mkdir, mkdtemp, open, readdir, readFile, rm, stat, symlink } from "node:fs/promises";
import { setPriority, tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Gateway, KEYS, put, root, startGateway, testConfig, until } from "./harness.ts";

const CANARY = "CANARY-0b1f outside of every workspace";
const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
const agent = "/api/v1/agents/assistant";
const run = promisify(execFile);

let gateway: Gateway;
let outside: string;
let workspace: string;
let media: string;
let session: string;
const exchanging: { kill(): Promise<void> }[] = [];

beforeAll(async () => {
  outside = await mkdtemp(join(tmpdir(), "outside-"));
  await put(outside, "file", CANARY);
  await put(outside, "x.png", CANARY);
  await put(outside, "shared.md", "Shared instructions.");
  gateway = await startGateway({ gateway: { publicUrl: "https://gateway.example.org" } });
  workspace = join(gateway.home, "agents/assistant/workspace");
  media = join(gateway.home, "agents/assistant/media");
  session = (await gateway.send("SAY hello")).body.session_id as string;
});
afterAll(async () => {
  await Promise.all(exchanging.map((one) => one.kill()));
  await gateway[Symbol.asyncDispose]();
  await rm(outside, { recursive: true, force: true });
});

const mint = (path: string) =>
  gateway.json("POST", "/api/v1/shares", {
    key: KEYS.write,
    body: { agent_id: "assistant", session_id: session, chat_id: "me", refs: [{ path }] },
  });
const tokenOf = async (path: string) => {
  const { status, body } = await mint(path);
  expect(status).toBe(201);
  return (body.items as { token: string }[])[0]!.token;
};
const shared = (token: string) => gateway.request("GET", `/shared/${token}`, { key: null });
const policy = () => gateway.json("PATCH", `${agent}/botchat/policy`, { body: { dmPolicy: "allowlist" } });

/** Others are served, the disk is reached, and nothing outside changed. */
async function unharmed() {
  const other = await gateway.json("POST", "/api/v1/agents/second/messages", {
    body: { message: "SAY alive", chat_id: "me" },
  });
  expect(other.body.response).toBe("alive");
  expect((await gateway.json("GET", "/health", { key: null })).status).toBe(200);
  expect((await readdir(outside)).sort()).toEqual(["file", "shared.md", "x.png"]);
  expect(await readFile(join(outside, "file"), "utf8")).toBe(CANARY);
}

async function exchange(folder: string): Promise<void> {
  const script = join(root, "test/fixtures/exchange-loop.mjs");
  const child = spawn(process.execPath, [script, folder, outside], { stdio: ["ignore", "pipe", "inherit"] });
  // The gateway needs the processors too.
  setPriority(child.pid!, 10);
  await once(child.stdout, "data");
  exchanging.push({
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
    },
  });
}

describe("state folders", () => {
  it("are given out by no share, tool or link, in no spelling [FILE-2]", async () => {
    for (const name of [".botchat-state/access.json", ".devicechat-state/creds.json"]) {
      await put(workspace, name, `{"secret": "${CANARY}"}`);
    }
    await mkdir(join(workspace, "sub"));
    await symlink(join(workspace, ".devicechat-state"), join(workspace, "pub"));
    await symlink(join(workspace, ".devicechat-state/creds.json"), join(workspace, "innocent.json"));
    await link(join(workspace, ".devicechat-state/creds.json"), join(workspace, "hard.json"));
    const spellings = [
      ".devicechat-state/creds.json",
      ".botchat-state/access.json",
      "sub/../.devicechat-state/creds.json",
      ".//.devicechat-state/./creds.json",
      "pub/creds.json",
      "innocent.json",
      "hard.json",
    ];
    for (const path of spellings) {
      const absolute = `${workspace}/${path}`;
      expect(await mint(absolute), path).toMatchObject({
        status: 403,
        body: { code: "ARTIFACT_PATH_DENIED" },
      });
      expect((await gateway.send(`SHARE ${absolute}`)).body.response, path).toContain("ARTIFACT_PATH_DENIED");
    }
    await rm(join(workspace, "hard.json"));
    await unharmed();
  });

  it("that are links are not written to: 409, and the folder is named [FILE-5]", async () => {
    await rm(join(workspace, ".botchat-state"), { recursive: true });
    await symlink(outside, join(workspace, ".botchat-state"));
    const mode = (await stat(outside)).mode;
    const { status, body } = await policy();
    expect({ status, code: body.code }).toEqual({ status: 409, code: "CONFLICT" });
    expect(JSON.stringify(body)).toContain(".botchat-state");
    expect(JSON.stringify(body)).not.toContain(gateway.home);
    expect((await stat(outside)).mode).toBe(mode);
    await rm(join(workspace, ".botchat-state"));
    expect((await policy()).status).toBe(200);
    await unharmed();
  });
});

describe("pipes, devices and giants", () => {
  it("in place of files keep no one waiting [FILE-3]", async () => {
    const names = ["AGENTS.md", "GREETING.md", ".guildchat-state/access.json", "pipe\nwith a line", "pipe"];
    await mkdir(join(workspace, ".guildchat-state"), { recursive: true });
    for (const name of names) await run("mkfifo", [join(workspace, name)]);
    await run("mkfifo", [join(media, "pipe.png")]).catch(() => run("mkdir", ["-p", media]));
    if (process.getuid?.() === 0) await run("mknod", [join(workspace, "zero"), "c", "1", "5"]);
    const greeting = () =>
      gateway.request("POST", `${agent}/greeting`, { body: { chat_id: "me", session_id: session } });
    const pending = () => gateway.json("GET", `${agent}/guildchat/pending`);
    const all = await Promise.all(
      Array.from({ length: 6 }, async () => [
        (await greeting()).status,
        (await pending()).status < 500,
        (await mint(join(workspace, "pipe"))).status,
        (await mint(join(workspace, "pipe\nwith a line"))).status,
        (await mint(join(workspace, "zero"))).status,
        (await gateway.json("GET", `${agent}/media/pipe.png`)).status,
      ]),
    );
    for (const one of all) expect(one).toEqual([204, true, 400, 400, 400, 404]);
    expect((await gateway.send("SAY still here", { chat_id: "fresh" })).body.response).toBe("still here");
    await unharmed();
    for (const name of names) await rm(join(workspace, name));
  });

  it("a sparse AGENTS.md costs no more than its cap [FILE-4]", async () => {
    const giant = await open(join(workspace, "AGENTS.md"), "w");
    await giant.truncate(8 * 2 ** 30);
    await giant.close();
    const peak = async () =>
      Number(/VmHWM:\s+(\d+)/.exec(await readFile(`/proc/${gateway.process.pid}/status`, "utf8"))?.[1]) *
      1024;
    const before = await peak();
    await gateway.send("SAY ok", { chat_id: "giant" });
    expect((await peak()) - before).toBeLessThan(100 * 1024 * 1024);
    await rm(join(workspace, "AGENTS.md"));
    await unharmed();
  });
});

describe("links out", () => {
  it("do not become instructions, and those that the configuration names do [FILE-1, FILE-8]", async () => {
    await symlink(join(outside, "file"), join(workspace, "AGENTS.md"));
    expect((await gateway.send("ARGV", { chat_id: "linked" })).body.response).not.toContain("CANARY");
    const patched = await gateway.json("PATCH", agent, {
      key: KEYS.write,
      body: { instructions: join(outside, "file") },
    });
    expect(patched.status).toBe(400);
    const config = testConfig({
      gateway: { publicUrl: "https://gateway.example.org" },
      agent: { instructions: join(outside, "shared.md") },
    });
    await gateway.writeConfig(config);
    await until(
      async () =>
        String((await gateway.send("ARGV", { chat_id: `named-${Date.now()}` })).body.response).includes(
          "Shared instructions.",
        ),
      "the named instructions to be used",
    );
    await rm(join(workspace, "AGENTS.md"));
    await unharmed();
  });

  it("and second hard links are not shared, and what takes the place of a shared file is 404 [FILE-1, FILE-6]", async () => {
    await symlink(join(outside, "file"), join(workspace, "out"));
    await link(join(outside, "file"), join(workspace, "hard"));
    for (const name of ["out", "hard"]) expect((await mint(join(workspace, name))).status, name).toBe(403);
    const token = await tokenOf(await put(workspace, "report", "the report"));
    expect(await (await shared(token)).text()).toBe("the report");
    await rm(join(workspace, "report"));
    for (const replace of [symlink, link]) {
      await replace(join(outside, "file"), join(workspace, "report"));
      expect((await shared(token)).status).toBe(404);
      await rm(join(workspace, "report"));
    }
    await put(workspace, "report", "another");
    expect((await shared(token)).status).toBe(404);
    await rm(join(workspace, "hard"));
    await unharmed();
  });
});

it("a folder and a link that are exchanged in a loop never show what lies outside [FILE-1]", async () => {
  await put(workspace, "loop/file", "inside");
  await put(media, "2026-01/x.png", PNG);
  const token = await tokenOf(join(workspace, "loop/file"));
  await exchange(join(workspace, "loop"));
  await exchange(join(media, "2026-01"));
  const found = { requests: 0, inside: 0, canary: 0 };
  const note = (text: string) => {
    found.requests++;
    if (text.includes("CANARY")) found.canary++;
    else if (text === "inside" || text.includes("PNG")) found.inside++;
  };
  const deadline = Date.now() + 10_000;
  const reader = async (ask: () => Promise<string>) => {
    while (found.requests < 3_000 && Date.now() < deadline) note(await ask());
  };
  const viaShare = async () => (await shared(token)).text();
  const viaMedia = async () => (await gateway.request("GET", `${agent}/media/2026-01/x.png`)).text();
  const viaMint = async () => {
    const { status, body } = await mint(join(workspace, "loop/file"));
    if (status !== 201) return "";
    return (await shared((body.items as { token: string }[])[0]!.token)).text();
  };
  await Promise.all([viaShare, viaShare, viaMedia, viaMedia, viaMint].map(reader));
  await Promise.all(exchanging.map((one) => one.kill()));
  expect(found.canary).toBe(0);
  expect(found.inside).toBeGreaterThan(0);
  // A busy machine serves few; the opener itself is tried thousands of times in its own test.
  expect(found.requests).toBeGreaterThan(100);
  await unharmed();
}, 30_000);

it("modes are narrowed at the next start, and SIGTERM is obeyed with pipes in every place [FILE-3, FILE-7]", async () => {
  for (const name of ["AGENTS.md", "GREETING.md"]) await run("mkfifo", [join(workspace, name)]);
  await put(workspace, ".devicechat-state/creds.json", "{}");
  const wide = [
    join(workspace, ".devicechat-state/creds.json"),
    join(gateway.home, "gateway.db"),
    join(gateway.home, "config.json"),
    join(gateway.home, "logs/gateway.log"),
  ];
  expect(await gateway.stop()).toBe(0);
  for (const path of wide) await chmod(path, 0o644);
  await chmod(join(workspace, ".devicechat-state"), 0o755);
  gateway = await startGateway({ home: gateway.home });
  for (const path of wide) expect((await stat(path)).mode & 0o777, path).toBe(0o600);
  expect((await stat(join(workspace, ".devicechat-state"))).mode & 0o777).toBe(0o700);
  expect((await gateway.send("SAY again")).body.response).toBe("again");
  expect(await gateway.stop()).toBe(0);
  for (const name of ["gateway.db", "gateway.db-wal", "gateway.db-shm"]) {
    const found = await stat(join(gateway.home, name)).catch(() => undefined);
    if (found) expect(found.mode & 0o077, name).toBe(0);
  }
});
