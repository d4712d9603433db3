// `npm run mutate [-- room …]`: changes the code of rooms in small ways and shows which changes their unit tests do not
// notice. What was noticed before is not run again until the code or its tests change.
import { join } from "node:path";
import { productNode, root, run } from "./lib.mjs";

/** Where each room's code and unit tests are. */
const rooms = {
  auth: ["auth", ["auth/**/*"]],
  access: ["channels/access", ["channels/access/**/*"]],
  config: ["config", ["config/**/*"]],
  jobs: ["jobs", ["jobs/**/*"]],
  intake: ["channels/intake", ["channels/intake/**/*", "channels/faults"]],
  delivery: ["channels/delivery", ["channels/delivery/**/*", "channels/faults"]],
  sessions: ["sessions", ["sessions/**/*"]],
  store: ["store", ["store/**/*", "history/**/*", "db/**/*"]],
};

const names = process.argv.slice(2);
const unknown = names.find((name) => !Object.hasOwn(rooms, name));
if (unknown !== undefined) {
  console.error(`There is no room "${unknown}"; there are ${Object.keys(rooms).join(", ")}.`);
  process.exit(2);
}
for (const name of names.length > 0 ? names : Object.keys(rooms)) {
  const [source, tests] = rooms[name];
  const code = await run(
    productNode(),
    [
      join(root, "node_modules/@stryker-mutator/core/bin/stryker.js"),
      "run",
      "--incremental",
      `--incrementalFile=tmp/mutate-${name}.json`,
      `--mutate=packages/gateway/src/${source}/**/*.ts`,
    ],
    // Few orders for each change: a test of interleavings that tries hundreds would run for days.
    {
      env: {
        RUNS: process.env.RUNS ?? "20",
        MUTATE_TESTS: tests.map((path) => `test/unit/${path}.test.ts`).join(","),
      },
    },
  );
  if (code !== 0) process.exitCode = code;
}
