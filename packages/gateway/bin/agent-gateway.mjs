#!/usr/bin/env node
// The program. Must parse on any Node.js that can load ES modules, and imports nothing before it knows with what it runs.

/**
 * A server's memory is set when its process begins, so `start` begins it once more in place (the same process id).
 * glibc: few arenas, and long blocks mapped one by one, so that they go back to the system when they are freed; by
 * itself it raises that limit with the first long block, up to 32 MB. V8: a young generation of 3 x 4 MB at most for
 * each thread, and a way to collect when the gateway is idle.
 */
const ALLOCATOR = {
  MALLOC_ARENA_MAX: "2",
  MALLOC_MMAP_THRESHOLD_: "131072",
  MALLOC_TRIM_THRESHOLD_: "131072",
};
const ENGINE = ["--max-semi-space-size=4", "--expose-gc"];
/** Names the variables that were added, so that agents do not inherit them. */
const MARK = "AGENT_GATEWAY_ALLOCATOR";

const { env } = process;
if (env[MARK] !== undefined) {
  for (const name of env[MARK].split(" ")) delete env[name];
  delete env[MARK];
} else if (process.argv[2] === "start" && typeof process.execve === "function") {
  const added = Object.fromEntries(Object.entries(ALLOCATOR).filter(([name]) => env[name] === undefined));
  const words = [process.execPath, ...process.execArgv, ...ENGINE, ...process.argv.slice(1)];
  try {
    process.execve(process.execPath, words, { ...env, ...added, [MARK]: Object.keys(added).join(" ") });
  } catch {
    // Where it is not allowed, the gateway runs with a little more memory.
  }
}
await import("./run.mjs");
