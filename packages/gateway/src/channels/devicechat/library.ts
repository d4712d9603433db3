import { createRequire } from "node:module";
import { GatewayError } from "@agent-gateway/contract";

/** The library, loaded when the first account needs it. */
export type Library = typeof import("baileys");

let loaded: Promise<Library> | undefined;

const nothing = () => {};

/** What the cipher library offers of its records of sessions. */
interface SessionRecord {
  prototype: Record<string, (...args: unknown[]) => unknown>;
}

/**
 * The cipher library writes whole sessions, with their private keys, to the console when it opens and closes them.
 * These steps are synchronous, so the console is silent exactly as long as they take.
 */
function keepKeysOffConsole(): void {
  const { SessionRecord } = createRequire(import.meta.resolve("baileys"))("libsignal") as {
    SessionRecord: SessionRecord;
  };
  for (const name of ["closeSession", "openSession", "removeOldSessions"]) {
    const step = SessionRecord.prototype[name];
    if (!step) continue;
    SessionRecord.prototype[name] = function (...args) {
      const { info, warn } = console;
      Object.assign(console, { info: nothing, warn: nothing });
      try {
        return step.apply(this, args);
      } finally {
        Object.assign(console, { info, warn });
      }
    };
  }
}

async function load(): Promise<Library> {
  try {
    const library = await import("baileys");
    keepKeysOffConsole();
    return library;
  } catch (cause) {
    loaded = undefined;
    throw new GatewayError(
      "INTERNAL",
      "The library for linked devices is not installed: run npm install baileys.",
      { cause },
    );
  }
}

/** @throws {GatewayError} `INTERNAL` when the optional library is not installed. */
export function loadLibrary(): Promise<Library> {
  loaded ??= load();
  return loaded;
}
