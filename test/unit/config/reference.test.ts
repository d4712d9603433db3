import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { root } from "../../harness.ts";

it("the reference in docs/OPERATIONS.md is what the schema says", async () => {
  const script = join(root, "scripts/config-reference.mjs");
  await expect(promisify(execFile)(process.execPath, [script, "--check"])).resolves.toBeDefined();
});
