// `npm test [vitest arguments]`: installs what is missing, checks the sources, runs every test.
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { install, productNode, root, run } from "./lib.mjs";

try {
  await install({ dev: true });
  const args = process.argv.slice(2);
  let failed = 0;
  let passed = 0;
  if (args.length === 0) {
    const code = await run(productNode(), [join(root, "scripts/check.mjs")]);
    if (code === 0) passed++;
    else failed++;
  }
  const folder = await mkdtemp(join(tmpdir(), "agent-gateway-report-"));
  const report = join(folder, "report.json");
  const vitest = join(root, "node_modules/vitest/vitest.mjs");
  const code = await run(productNode(), [
    vitest,
    "run",
    "--reporter=default",
    "--reporter=json",
    `--outputFile.json=${report}`,
    ...args,
  ]);
  const { numPassedTests, numFailedTests, numPendingTests } = JSON.parse(await readFile(report, "utf8"));
  await rm(folder, { recursive: true, force: true });
  passed += numPassedTests;
  failed += numFailedTests + (code !== 0 && numFailedTests === 0 ? 1 : 0);
  console.log(
    `${passed} passed, ${failed} failed${numPendingTests > 0 ? `, ${numPendingTests} skipped` : ""}`,
  );
  process.exitCode = failed === 0 ? 0 : 1;
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
