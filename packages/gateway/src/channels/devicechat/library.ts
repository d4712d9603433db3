import { mkdir } from "node:fs/promises";
import { GatewayError } from "@agent-gateway/contract";
import { repairCipher } from "./cipher-library.ts";

/** The library, loaded when the first account needs it. */
export type Library = typeof import("baileys");

let loaded: Promise<Library> | undefined;

/** How the lines begin that the cipher library writes to the console. */
const CIPHER_LINES =
  /^(?:Closing (?:open )?session|Opening session|Removing old closed session|Session already|Session error|Migrating session|V1 session storage|Failed to decrypt message with any known session|Decrypted message with closed session)/;

/** The cipher library tells the console of its sessions, with their private keys. */
function keepKeysOffConsole(): void {
  for (const name of ["info", "warn", "error"] as const) {
    const write = console[name].bind(console);
    console[name] = (...parts: unknown[]) => {
      const [first] = parts;
      if (typeof first !== "string" || !CIPHER_LINES.test(first)) write(...parts);
    };
  }
}

async function load(): Promise<Library> {
  try {
    const library = await import("baileys");
    keepKeysOffConsole();
    repairCipher();
    return library;
  } catch (cause) {
    loaded = undefined;
    throw new GatewayError(
      "INTERNAL",
      "The library for linked devices is not installed: install the gateway again without --omit=optional.",
      { cause },
    );
  }
}

/** @throws {GatewayError} `INTERNAL` when the optional library is not installed. */
export function loadLibrary(): Promise<Library> {
  loaded ??= load();
  return loaded;
}

/**
 * The library writes uploads, enciphered, to the system's folder for temporary files, and no option changes that. The
 * gateway keeps its files in its home; agents get the environment that it was started with.
 */
export async function keepTemporaryFilesIn(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  process.env.TMPDIR = folder;
}
