type ExitProcess = (code: number) => void;
let loaded: ExitProcess | null | undefined;

/**
 * `_exit(2)`, which ends the process from any thread, whatever the others do; null where Node.js has no foreign
 * functions. `process.exit` joins the threads of libuv's pool, and one that is inside a call of the operating system
 * (opening a FIFO, a file system that hangs) blocks it forever; in a worker it ends only that worker.
 */
export function loadExit(): ExitProcess | null {
  if (loaded !== undefined) return loaded;
  try {
    const { DynamicLibrary } = process.getBuiltinModule("node:ffi");
    const exit = new DynamicLibrary(null).getFunction("_exit", { arguments: ["int32"], return: "void" });
    loaded = (code) => void exit(code);
  } catch {
    loaded = null;
  }
  return loaded;
}

/** Ends the process at once with `code`, after its exit listeners have run: they kill children and write log lines. */
export function endNow(code: number): never {
  process.removeAllListeners("warning");
  const exit = loadExit();
  const busy = process.getActiveResourcesInfo().some((name) => /^(?:FS|GetAddrInfo|Work|Zlib)/.test(name));
  if (!exit && !busy) process.exit(code);
  try {
    process.emit("exit", code);
  } catch {
    // Nothing may prevent the exit.
  }
  exit?.(code);
  process.kill(process.pid, "SIGKILL");
  throw new Error("unreachable");
}
