// Time to ready and idle memory, against a bare node:http server in the same run.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { makeHome, ms, quantile, report, rssMb, startGateway } from "./lib.mjs";

const BARE = `require("node:http").createServer((q, s) => s.end("ok")).listen(0, () => console.log("up"))`;
const ROUNDS = 15;

async function bareStart() {
  const began = performance.now();
  const child = spawn(process.execPath, ["-e", BARE], { stdio: ["ignore", "pipe", "inherit"] });
  await once(child.stdout, "data");
  return { child, readyMs: performance.now() - began };
}

const home = makeHome();
const bare = [];
const ours = [];
let bareRss = 0;
let ourRss = 0;
await startGateway(home).then((gateway) => gateway.stop());
for (let round = 0; round < ROUNDS; round++) {
  const plain = await bareStart();
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
const [a, b] = [quantile(bare, 0.5), quantile(ours, 0.5)];
report(
  "ready after start",
  `${ms(b)}, bare ${ms(a)}, ${(b / a).toFixed(2)}x`,
  "<= 3x bare and < 500 ms",
  b <= 3 * a && b < 500,
);
report(
  "idle memory",
  `${ourRss.toFixed(0)} MB, bare ${bareRss.toFixed(0)} MB, +${(ourRss - bareRss).toFixed(0)} MB`,
  "<= bare + 60 MB",
  ourRss <= bareRss + 60,
);
