import { existsSync } from "node:fs";
import { mkdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { oldNode, pathWith } from "./fixtures/old-node.ts";
import { alive, bin, put, root, until } from "./harness.ts";
import { LISTENING, ownFolder, type Program, runProgram, startProgram } from "./program.ts";

const INSTALL_MS = 280_000;
vi.setConfig({ testTimeout: INSTALL_MS + 60_000 });
/** Ctrl-C in a terminal: the whole group hears it. */
async function interrupt(program: Program, home: string): Promise<void> {
  const { pid } = JSON.parse(await readFile(join(home, "run/gateway.json"), "utf8")) as { pid: number };
  process.kill(-program.process.pid!, "SIGINT");
  await program.ended;
  await until(() => !alive(pid), "the gateway to be gone");
  // The record goes at the very end of an orderly stop.
  expect(existsSync(join(home, "run/gateway.json"))).toBe(false);
}

it("the bin file finds the pinned Node.js where the machine's own is too old [START-2]", async ({ skip }) => {
  const node = await oldNode(skip);
  const PATH = await pathWith(node);
  const { code, stdout, stderr } = await runProgram([node, bin, "--version"], { env: { PATH } });
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  const home = await ownFolder();
  const gateway = startProgram([node, bin, "start"], { env: { PATH, GATEWAY_HOME: home, PORT: "0" } });
  await gateway.says(LISTENING);
  gateway.process.kill("SIGTERM");
  expect(await gateway.ended).toBe(0);
});

it("a fresh clone installs, builds and starts by `npm start` with Node.js 20, and npx finds the client [START-1, START-2]", async ({
  skip,
}) => {
  const PATH = await pathWith(await oldNode(skip));
  if (!existsSync(join(root, ".git"))) skip("the sources are no git checkout");
  const folder = await ownFolder();
  const [checkout, home] = [join(folder, "checkout"), join(folder, "home")];
  await mkdir(home);
  // The checkout under test may belong to another user than the one who runs the test.
  const GIT_CONFIG_GLOBAL = await put(folder, "gitconfig", "[safe]\n\tdirectory = *\n");
  const env = { PATH, GIT_CONFIG_GLOBAL, GATEWAY_HOME: home, PORT: "0", npm_config_prefer_offline: "true" };
  const clone = await runProgram(["git", "clone", "--quiet", "--no-hardlinks", root, checkout], { env });
  expect([clone.code, clone.stderr]).toEqual([0, ""]);

  const first = startProgram(["npm", "start"], { cwd: checkout, env });
  await first.says(LISTENING, INSTALL_MS);
  const [, curl] = await first.says(/^ *(curl -s .*)$/m);
  const pasted = await runProgram(["sh", "-c", curl!]);
  expect(JSON.parse(pasted.stdout)).toMatchObject({
    agent_id: "assistant",
    response: expect.any(String),
  });
  expect(first.stdout()).toContain("Installing dependencies (once)");
  await interrupt(first, home);
  expect(
    (await stat(join(checkout, "node_modules/vitest")).catch(() => null))?.isDirectory(),
  ).toBeUndefined();

  const version = await runProgram(["npx", "agent-gateway", "--version"], { cwd: checkout, env });
  expect([version.code, version.stdout]).toEqual([0, expect.stringMatching(/^\d+\.\d+\.\d+\n$/)]);
  const untouched = await runProgram(["git", "status", "--porcelain"], { cwd: checkout, env });
  expect(untouched.stdout).toBe("");

  const again = startProgram(["npm", "start", "--", "--port", "0"], { cwd: checkout, env });
  await again.says(LISTENING);
  expect(again.stdout()).not.toContain("Installing");
  await interrupt(again, home);
});
