// `npm run bench [name …]`: runs the benchmarks one after another, shows each line as it comes, and ends with a summary.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
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
  "crons",
  "markdown",
  "store",
  "terminal",
];

/** Runs one; gives what it missed. */
async function measure(name) {
  const missed = [];
  const child = spawn(productNode(), [join(root, `bench/${name}.mjs`)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  createInterface({ input: child.stdout }).on("line", (line) => {
    console.log(line);
    if (line.startsWith("MISS")) missed.push(line);
  });
  const [code, signal] = await once(child, "close");
  if (code !== 0) missed.push(`MISS  ${name} did not come to its end (${signal ?? `exit code ${code}`})`);
  return missed;
}

const wanted = process.argv.slice(2);
await build();
const missed = [];
for (const name of wanted.length > 0 ? wanted : ALL) {
  console.log(`\n== ${name}`);
  missed.push(...(await measure(name)));
}
console.log(missed.length === 0 ? "\nall targets reached" : `\n${missed.length} targets missed:`);
for (const line of missed) console.log(line);
