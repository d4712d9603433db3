// Shared by the npm scripts. Must run on Node.js 20, which may be the only version installed.
import { spawn } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("..", import.meta.url));
const modules = join(root, "node_modules");
const MINIMUM_MAJOR = 24;

/** Path of a Node.js that can run the product: this one if it is new enough, else the one pinned in node_modules. */
export function productNode() {
  if (Number(process.versions.node.split(".")[0]) >= MINIMUM_MAJOR) return process.execPath;
  const name = `node-${process.platform === "win32" ? "win" : process.platform}-${process.arch}`;
  const pinned = join(modules, name, "bin", process.platform === "win32" ? "node.exe" : "node");
  if (existsSync(pinned)) return pinned;
  throw new Error(
    `Node.js ${MINIMUM_MAJOR} or later is required; this is ${process.version}, and ${name} is not installed.`,
  );
}

/** Runs a command in this terminal and forwards signals. Resolves to its exit code. */
export function run(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    const env = {
      ...process.env,
      PATH: `${join(modules, ".bin")}${delimiter}${process.env.PATH ?? ""}`,
      ...options.env,
    };
    const child = spawn(command, args, { cwd: root, stdio: "inherit", ...options, env });
    const forward = (signal) => child.kill(signal);
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, forward);
    child.once("error", reject);
    child.once("exit", (code, signal) => {
      for (const name of ["SIGINT", "SIGTERM", "SIGHUP"]) process.off(name, forward);
      resolve(code ?? (signal ? 1 : 0));
    });
  });
}

/** Installs missing dependencies; with `dev`, also those for tests. Does nothing if everything is up to date. */
export async function install({ dev }) {
  const stamp = join(modules, ".package-lock.json");
  const fresh =
    existsSync(stamp) && statSync(stamp).mtimeMs >= statSync(join(root, "package-lock.json")).mtimeMs;
  if (fresh && (!dev || existsSync(join(modules, "vitest")))) return;
  console.log("Installing dependencies (once) …");
  const args = [
    "ci",
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
    "--loglevel=error",
    ...(dev ? [] : ["--omit=dev"]),
  ];
  const code = await run(process.platform === "win32" ? "npm.cmd" : "npm", args);
  if (code !== 0) throw new Error(`npm ci exited with ${code}`);
}

function newest(folder) {
  let latest = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.name === "node_modules" || entry.name === "dist") continue;
    const path = join(folder, entry.name);
    latest = Math.max(latest, entry.isDirectory() ? newest(path) : statSync(path).mtimeMs);
  }
  return latest;
}

/** Builds if a source is newer than the last build. */
export async function build() {
  const built = join(root, "packages/gateway/dist/.built");
  const sources = Math.max(newest(join(root, "packages")), statSync(join(root, "package-lock.json")).mtimeMs);
  if (existsSync(built) && statSync(built).mtimeMs >= sources) return;
  const code = await run(productNode(), [join(root, "scripts/build.mjs")]);
  if (code !== 0) throw new Error(`the build exited with ${code}`);
}
