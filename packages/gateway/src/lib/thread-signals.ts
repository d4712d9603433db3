import { constants } from "node:os";

/** `UV_SIGNAL` of libuv's `uv_handle_type`; part of its stable interface. */
const UV_SIGNAL = 16;
/** What libuv holds pointers to; it must stay where it is. */
const kept: unknown[] = [];

/**
 * Listens for signals in a worker thread, which `process.on` cannot: libuv tells each of its loops. Where Node.js has
 * no foreign functions nothing is heard, and the main thread alone takes signals.
 */
export function onSignals(names: readonly NodeJS.Signals[], listener: () => void): void {
  try {
    const { DynamicLibrary, getCurrentEventLoop, getRawPointer } = process.getBuiltinModule("node:ffi");
    const node = new DynamicLibrary(null);
    const size = node.getFunction("uv_handle_size", { arguments: ["int32"], return: "uint64" });
    const init = node.getFunction("uv_signal_init", { arguments: ["pointer", "pointer"], return: "int32" });
    const start = node.getFunction("uv_signal_start", {
      arguments: ["pointer", "pointer", "int32"],
      return: "int32",
    });
    const callback = node.registerCallback({ arguments: ["pointer", "int32"], return: "void" }, listener);
    kept.push(node, callback);
    for (const name of names) {
      const handle = new ArrayBuffer(Number(size(UV_SIGNAL)));
      kept.push(handle);
      const pointer = getRawPointer(handle);
      if (init(getCurrentEventLoop(), pointer) === 0) start(pointer, callback, constants.signals[name]!);
    }
  } catch {
    // No foreign functions, or a Node.js without libuv's symbols.
  }
}
