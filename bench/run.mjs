// `npm run bench [name …]`: runs the benchmarks one after another and prints a summary.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { build, productNode, root } from "../scripts/lib.mjs";

const ALL = [
  "start",
  "memory",
  "turns",
  "stream",
  "history",
  "search",
  "import",
  "webhooks",
  "markdown",
  "store",
];
const wanted = process.argv.slice(2);
await build();
let missed = 0;
for (const name of wanted.length > 0 ? wanted : ALL) {
  console.log(`\n== ${name}`);
  const { stdout, status } = spawnSync(productNode(), [join(root, `bench/${name}.mjs`)], {
    stdio: ["ignore", "pipe", "inherit"],
    encoding: "utf8",
  });
  process.stdout.write(stdout);
  missed += (stdout.match(/^MISS/gm) ?? []).length + (status === 0 ? 0 : 1);
}
console.log(missed === 0 ? "\nall targets reached" : `\n${missed} targets missed`);
