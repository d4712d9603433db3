import { chmod, mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { oldNode, pathWith } from "./fixtures/old-node.ts";
import { root } from "./harness.ts";
import { LISTENING, ownFolder, runProgram, startProgram } from "./program.ts";

const INSTALL_MS = 240_000;

it(
  "the packed gateway, installed globally without scripts, runs with Node.js 20 and says what is missing where it cannot [PKG-12]",
  async ({ skip }) => {
    const node = await oldNode(skip);
    const folder = await ownFolder();
    const [prefix, home] = [join(folder, "global"), join(folder, "home")];
    await mkdir(home);
    const env = { PATH: await pathWith(node), GATEWAY_HOME: home, npm_config_prefer_offline: "true" };
    const packed = await runProgram(["npm", "pack", "--silent", "--pack-destination", folder], {
      cwd: join(root, "packages/gateway"),
      env,
    });
    expect(packed.code).toBe(0);
    const archive = (await readdir(folder)).find((name) => name.endsWith(".tgz"))!;
    const install = [
      "npm",
      "install",
      "-g",
      "--prefix",
      prefix,
      "--ignore-scripts",
      "--no-audit",
      "--no-fund",
    ];
    const installed = await runProgram([...install, join(folder, archive)], { cwd: folder, env });
    expect(installed.code, installed.stderr).toBe(0);

    const program = join(prefix, "bin/agent-gateway");
    const modules = join(prefix, "lib/node_modules/agent-gateway");
    expect(await readdir(modules)).toEqual(expect.arrayContaining(["CHANGELOG.md", "LICENSE"]));
    const gateway = startProgram([program, "start", "--port", "0"], { env });
    const [, url] = await gateway.says(LISTENING);
    expect((await fetch(`${url}/health`)).status).toBe(200);
    const page = await fetch(`${url}/dashboard`, { headers: { accept: "text/html" } });
    expect(page.headers.get("content-type")).toContain("text/html");
    gateway.process.kill("SIGTERM");
    expect(await gateway.ended).toBe(0);

    // As on a system for which that Node.js was not built.
    const pinned = join(modules, "node_modules", `node-${process.platform}-${process.arch}`);
    await chmod(join(pinned, "bin/node"), 0o644);
    const refused = await runProgram([program, "--version"], { env });
    expect([refused.code, refused.stdout]).toEqual([1, ""]);
    expect(refused.stderr).toMatch(
      /^agent-gateway needs Node\.js 24 or newer, and this is v2\d\.\d+\.\d+: install a newer one, because the one that npm brought cannot run here\.\n$/,
    );
    // As after `--omit=optional`.
    await rm(pinned, { recursive: true });
    const bare = await runProgram([program, "--version"], { env });
    expect([bare.code, bare.stdout]).toEqual([1, ""]);
    expect(bare.stderr).toMatch(
      /^agent-gateway needs Node\.js 24 or newer, and this is v2\d\.\d+\.\d+: install a newer one, or install agent-gateway again without --omit=optional, and npm brings its own\.\n$/,
    );
    const newer = await runProgram([process.execPath, program, "--version"], { env });
    expect([newer.code, newer.stderr]).toEqual([0, ""]);
  },
  INSTALL_MS,
);
