import { execFile, spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { bin } from "./harness.ts";

const CONFIG = JSON.stringify({
  configVersion: "2.0.0",
  gateway: { api: { keys: [] } },
  agents: [{ id: "assistant", runtime: { type: "starter" } }],
});
const GARBAGE = "no database at all, but long enough for one. ".repeat(100);

async function put(path: string, text: string) {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}
async function pipe(path: string) {
  await mkdir(dirname(path), { recursive: true });
  await promisify(execFile)("mkfifo", [path]);
}
const folder = (path: string) => mkdir(path, { recursive: true });

/** What the start says and with which code it ends; one that listens is stopped. */
async function start(home: string) {
  const child = spawn(process.execPath, [bin, "start", "--port", "0"], {
    env: { ...process.env, GATEWAY_HOME: home, GATEWAY_CONFIG: "" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const late = setTimeout(() => child.kill("SIGKILL"), 15_000);
  let out = "";
  let said = "";
  child.stdout.on("data", (chunk) => {
    out += chunk;
    if (out.includes("gateway listening on")) child.kill("SIGTERM");
  });
  child.stderr.on("data", (chunk) => {
    said += chunk;
  });
  const code = await new Promise((resolve) => child.once("close", resolve));
  clearTimeout(late);
  return { code, listened: out.includes("gateway listening on"), said: said.trim() };
}

const refused: Array<[name: string, code: number, says: RegExp, break_: (home: string) => Promise<unknown>]> =
  [
    ["a home that is a file", 78, /GATEWAY_HOME/, (home) => put(home, "x")],
    ["a home with a file in place of a folder", 78, /GATEWAY_HOME/, (home) => put(join(home, "run"), "x")],
    ["a lock that is not one", 78, /GATEWAY_HOME/, (home) => put(join(home, "run/gateway.lock"), GARBAGE)],
    ["a configuration that is a pipe", 78, /regular file/, (home) => pipe(join(home, "config.json"))],
    ["a configuration that is a folder", 78, /regular file/, (home) => folder(join(home, "config.json"))],
    [
      "a last good configuration that is a pipe",
      78,
      /JSON/,
      async (home) => {
        await put(join(home, "config.json"), "{");
        await pipe(join(home, "config.last-good.json"));
      },
    ],
    ["a first key that is a folder", 78, /GATEWAY_HOME/, (home) => folder(join(home, ".first-key"))],
    ["a first key that is a pipe", 78, /GATEWAY_HOME/, (home) => pipe(join(home, ".first-key"))],
    ["a database that is garbage", 1, /backup/, (home) => put(join(home, "gateway.db"), GARBAGE)],
    ["a database that is a folder", 1, /backup/, (home) => folder(join(home, "gateway.db"))],
    ["a database that is a pipe", 1, /backup/, (home) => pipe(join(home, "gateway.db"))],
  ];

it.concurrent.for(refused)(
  "refuses %s at once, with one sentence [START-BROKEN-1]",
  async ([name, code, says, ruin]) => {
    const above = await mkdtemp(join(tmpdir(), "agent-gateway-broken-"));
    try {
      const home = join(above, "home");
      if (code === 1) await put(join(home, "config.json"), CONFIG);
      await ruin(home);
      const end = await start(home);
      expect(end, name).toMatchObject({ code, listened: false });
      expect(end.said).toMatch(says);
      expect(end.said.split("\n"), end.said).toHaveLength(1);
      expect(end.said).not.toMatch(/\bE[A-Z]{4,}\b|\bat .*:\d+:\d+/);
    } finally {
      await rm(above, { recursive: true, force: true });
    }
  },
);

it("starts although a record or a copy of its own is a pipe or a device [START-BROKEN-1]", async () => {
  const home = await mkdtemp(join(tmpdir(), "agent-gateway-broken-"));
  try {
    await put(join(home, "config.json"), CONFIG);
    await pipe(join(home, "config.last-good.json"));
    await pipe(join(home, "run/gateway.json"));
    await pipe(join(home, "run/children/1"));
    await symlink("/dev/zero", join(home, ".env"));
    expect(await start(home)).toMatchObject({ code: 0, listened: true });
  } finally {
    await rm(home, { recursive: true, force: true });
  }
});
