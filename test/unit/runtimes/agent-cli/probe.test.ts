import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { probeProgram } from "../../../../packages/gateway/src/runtimes/agent-cli/probe.ts";
import { tempFolder } from "../../../fixtures/temp-home.ts";

test("a program that was ended before it told its flags is asked again [FAULT-8]", async () => {
  const folder = await tempFolder();
  const program = join(folder, "claude");
  const script = `#!/bin/sh
if [ ! -e "${folder}/asked" ]; then touch "${folder}/asked"; kill -9 $$; fi
echo "Claude Code --resume"
exit 0
`;
  await writeFile(program, script + "#".repeat(1024 * 1024));
  await chmod(program, 0o755);
  const ask = () => probeProgram([program], folder, { PATH: process.env.PATH ?? "" });
  expect((await ask()).claudeCode).toBe(false);
  expect(await ask()).toEqual({ claudeCode: true, flags: new Set(["--resume"]) });
});
