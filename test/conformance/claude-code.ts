import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";

/** The release that the runtime was last checked against. */
const VERSION = process.env.CLAUDE_CODE_VERSION ?? "2.1.329";
const FAKE_MODEL = join(import.meta.dirname, "../../../shared/fakes/fake-model.mjs");
const run = promisify(execFile);

/**
 * Installs Claude Code once per machine, in the temp folder.
 * @returns the program, or why it cannot be used here.
 */
export async function installClaudeCode(): Promise<{ program: string } | { missing: string }> {
  if (!existsSync(FAKE_MODEL)) return { missing: "the fake model server is not part of this checkout" };
  const home = join(tmpdir(), "agent-gateway-conformance");
  const prefix = join(home, VERSION);
  const program = join(prefix, "node_modules/.bin/claude");
  try {
    if (!existsSync(program)) {
      const fresh = `${prefix}.${process.pid}`;
      await mkdir(fresh, { recursive: true });
      await run(
        "npm",
        ["install", "--no-audit", "--no-fund", "--prefix", fresh, `@anthropic-ai/claude-code@${VERSION}`],
        { timeout: 240_000 },
      );
      await rm(prefix, { recursive: true, force: true });
      await rename(fresh, prefix);
    }
    await run(program, ["--version"], { timeout: 30_000 });
    return { program };
  } catch {
    return { missing: `@anthropic-ai/claude-code ${VERSION} cannot be installed here` };
  }
}

/** Starts the fake model server. `requests` reads the bodies of the model calls that it got, in order. */
export async function startFakeModel(dump: string) {
  const child = spawn(process.execPath, [FAKE_MODEL, "0", "--dump", dump], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
  return {
    url: (JSON.parse(line) as { listening: string }).listening,
    async stop() {
      child.kill();
      await once(child, "exit");
    },
  };
}
