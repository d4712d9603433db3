// Runs the built gateway with a Node.js that can. Must parse on any Node.js that can load ES modules.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import * as module from "node:module";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const main = fileURLToPath(new URL("../dist/main.js", import.meta.url));

function pinnedNode() {
  const name = `node-${process.platform === "win32" ? "win" : process.platform}-${process.arch}`;
  try {
    const manifest = module.createRequire(import.meta.url).resolve(`${name}/package.json`);
    const file = join(dirname(manifest), "bin", process.platform === "win32" ? "node.exe" : "node");
    return existsSync(file) ? file : undefined;
  } catch {
    return undefined;
  }
}

/** A fresh checkout has sources but nothing built yet. */
async function buildCheckout() {
  const script = fileURLToPath(new URL("../../../scripts/build.mjs", import.meta.url));
  const built =
    existsSync(script) &&
    (await new Promise((resolve) => {
      // What a command prints on stdout is its result, so the build's words go to stderr.
      spawn(process.execPath, [script], { stdio: ["ignore", 2, 2] }).once("exit", (code) =>
        resolve(code === 0),
      );
    }));
  if (built) return;
  console.error("The gateway is not built: run `npm run build` in the checkout.");
  process.exit(1);
}

if (Number(process.versions.node.split(".")[0]) < 24) {
  const tooOld = (remedy) => {
    console.error(`agent-gateway needs Node.js 24 or newer, and this is ${process.version}: ${remedy}.`);
    process.exit(1);
  };
  const node =
    pinnedNode() ??
    tooOld(
      "install a newer one, or install agent-gateway again without --omit=optional, and npm brings its own",
    );
  const child = spawn(node, [process.argv[1], ...process.argv.slice(2)], { stdio: "inherit" });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.once("error", () => tooOld("install a newer one, because the one that npm brought cannot run here"));
  child.once("exit", (code, signal) => process.exit(code ?? (signal ? 1 : 0)));
} else {
  if (!existsSync(main)) await buildCheckout();
  const home = process.env.GATEWAY_HOME || join(homedir(), ".agent-gateway");
  if (existsSync(home)) module.enableCompileCache(join(home, "cache"));
  await import(pathToFileURL(main).href);
}
