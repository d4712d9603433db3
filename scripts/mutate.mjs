// `npm run mutate [-- room …]`: changes the code of rooms in small ways and shows which changes their unit tests do not
// notice. What was noticed before is not run again until the code or its tests change. `MUTATE_EVERY=4` tries one change
// in four, for a first look at a large room.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { productNode, root, run } from "./lib.mjs";

/**
 * Where each room's code and unit tests are. Left out is what other processes, threads of the database or a server of
 * Postgres run, where no change can be switched on, and the tests that only start such processes or read the
 * documentation, which the copy that is changed does not have.
 */
const rooms = {
  auth: [["auth/**/*"], ["auth/**/*"]],
  access: [["channels/access/**/*"], ["channels/access/**/*"]],
  config: [["config/**/*"], ["config/!(crash|first-starts|reference)"]],
  jobs: [["jobs/**/*"], ["jobs/**/*"]],
  intake: [["channels/intake/**/*"], ["channels/intake/**/*", "channels/faults"]],
  delivery: [["channels/delivery/**/*"], ["channels/delivery/**/*", "channels/faults"]],
  sessions: [["sessions/**/*"], ["sessions/**/*"]],
  store: [
    ["store/*", "store/sql/*"],
    ["store/**/*", "usage/**/*", "history/paging"],
  ],
};

const every = Number(process.env.MUTATE_EVERY ?? 1);
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
      // What a sample leaves out would count as tried.
      ...(every > 1 ? [] : ["--incremental", `--incrementalFile=tmp/mutate-${name}.json`]),
      `--mutate=${source.map((path) => path.replace(/^(!?)(.*)$/, "$1packages/gateway/src/$2.ts")).join(",")}`,
    ],
    // Few orders for each change: a test of interleavings that tries hundreds would run for days.
    {
      env: {
        RUNS: process.env.RUNS ?? "5",
        MUTATE_TESTS: tests.map((path) => `test/unit/${path}.test.ts`).join(","),
      },
    },
  );
  if (every > 1) tellSample(name);
  else if (code !== 0) process.exitCode = code;
}

/** The score of a sample alone: what no test reaches is judged without being tried, and would count in full. */
function tellSample(name) {
  const { files } = JSON.parse(readFileSync(join(root, "tmp/mutation.json"), "utf8"));
  const tried = Object.values(files)
    .flatMap(({ mutants }) => mutants)
    .filter(({ id, status }) => Number(id) % every === 0 && status !== "Ignored");
  const noticed = tried.filter(({ status }) => status === "Killed" || status === "Timeout").length;
  console.log(`${name}, one change in ${every}: ${noticed} of ${tried.length} noticed.`);
}
