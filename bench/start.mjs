// Time to ready and idle memory, against a bare node:http server in the same run.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { makeHome, ms, quantile, report, rssMb, startGateway } from "./lib.mjs";

const SERVE = 'createServer((q, s) => s.end("ok")).listen(0, () => console.log("up"))';
/** The least there is: CommonJS on the command line. It spares what every ES module pays for `node:http`. */
const BARE = ["-e", `require("node:http").${SERVE}`];
/** The same server as an ES module, which is what the gateway is. */
const MODULE = ["--input-type=module", "-e", `import { createServer } from "node:http"; ${SERVE}`];
const ROUNDS = 15;

async function bareStart(args) {
  const began = performance.now();
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  await once(child.stdout, "data");
  return { child, readyMs: performance.now() - began };
}

const home = makeHome();
const bare = [];
const modules = [];
const ours = [];
let bareRss = 0;
let ourRss = 0;
await startGateway(home).then((gateway) => gateway.stop());
for (let round = 0; round < ROUNDS; round++) {
  const module = await bareStart(MODULE);
  modules.push(module.readyMs);
  module.child.kill();
  const plain = await bareStart(BARE);
  bare.push(plain.readyMs);
  const gateway = await startGateway(home);
  ours.push(gateway.readyMs);
  if (round === ROUNDS - 1) {
    await new Promise((resolve) => setTimeout(resolve, 3000));
    bareRss = await rssMb(plain.child.pid);
    ourRss = await rssMb(gateway.pid);
  }
  plain.child.kill();
  await gateway.stop();
}
rmSync(home, { recursive: true, force: true });
const [a, b, c] = [quantile(bare, 0.5), quantile(ours, 0.5), quantile(modules, 0.5)];
report(
  "ready after start",
  `${ms(b)}, bare ES module ${ms(c)}, ${(b / c).toFixed(2)}x (as CommonJS ${ms(a)}, ${(b / a).toFixed(2)}x)`,
  "<= 3.5x the bare ES module",
  b <= 3.5 * c,
);
const script = fileURLToPath(new URL("many-routes.mjs", import.meta.url));
const manyRoutes = (...args) =>
  Math.min(
    ...Array.from({ length: 5 }, () =>
      Number(execFileSync(process.execPath, [script, ...args], { encoding: "utf8" })),
    ),
  );
const [lazy, eager] = [manyRoutes(), manyRoutes("eager")];
report(
  "300 more routes, declared and routed",
  `${ms(lazy)}; with all their schemas built ${ms(eager)}`,
  "<= 5 % of a start",
  lazy <= 0.05 * b,
);
report(
  "idle memory",
  `${ourRss.toFixed(0)} MB, bare ${bareRss.toFixed(0)} MB, +${(ourRss - bareRss).toFixed(0)} MB`,
  "<= bare + 60 MB",
  ourRss <= bareRss + 60,
);
