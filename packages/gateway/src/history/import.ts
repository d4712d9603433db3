import { randomUUID } from "node:crypto";
import { type FileHandle, mkdir, open, readdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Readable } from "node:stream";
import { GatewayError } from "@agent-gateway/contract";
import type { Logger } from "../lib/logger.ts";
import { IMPORT_FAILED, type ImportResult, type ImportState, type Store } from "../store/index.ts";
import { BAD_LINE, type BadLine } from "./bad-line.ts";

export interface ImportDeps {
  store: Pick<Store, "imports">;
  log: Logger;
  /** Folder for incoming bodies; absolute, created when needed. */
  spoolDir: string;
  /** Id of the home that the folder is in, where several gateways use the store. */
  home?: string | undefined;
  /** Subtracts bytes from the disk's free space; throws below the floor. */
  takeSpace(bytes: number): void;
}

/** Who sends an import. */
export interface ImportSender {
  /** Aborted when the sender disconnects. */
  signal: AbortSignal;
  /** Called before anything is stored; throws to refuse it. */
  confirm?(): void;
}

const NEVER = new AbortController().signal;

/**
 * Imports of NDJSON. The body goes to a file, the reader thread checks every line of it, and only then the writer
 * thread stores: so a bad line leaves nothing, and other work continues. After a crash while storing, the next start
 * finishes the import.
 */
export function createImports(deps: ImportDeps) {
  const { log, spoolDir } = deps;
  const { imports } = deps.store;
  const busy = new Set<string>();
  /** Resolves when it is known which agents have an import to be finished; no other begins before. */
  let looked: Promise<unknown> = Promise.resolve();
  /** The others belong to gateways that may be at work on them. */
  const isOwn = ({ home }: ImportState) => home === deps.home;
  const fileOf = (name: string) => join(spoolDir, name);

  const store = async (state: ImportState, lines: number): Promise<ImportResult> => {
    const file = fileOf(state.name);
    const result = await imports.store(file, state, lines);
    await rm(file, { force: true });
    return result;
  };

  const run = async (
    agentId: string,
    body: Readable,
    { signal, confirm }: ImportSender,
  ): Promise<ImportResult> => {
    const name = `${agentId}-${randomUUID()}.ndjson`;
    const file = fileOf(name);
    try {
      await spool(file, body, deps.takeSpace);
      const lines = await imports.check(file, signal);
      signal.throwIfAborted();
      confirm?.();
      // From here on the import completes, whether or not its sender waits.
      const state = { name, agentId, offset: 0, line: 0, imported: 0, skipped: 0, sessions: 0 };
      return await store(deps.home === undefined ? state : { ...state, home: deps.home }, lines);
    } catch (error) {
      // When the gateway is closing, the file is what the import continues from. One that failed must not: its sender
      // is told so, and may send it again.
      const failed = (error as { code?: unknown }).code === IMPORT_FAILED;
      if (failed || !(await interrupted(imports, name))) await rm(file, { force: true });
      throw readable(error, signal);
    }
  };

  /** What is to be finished. Its agents are busy from here on: what is not shown yet is no duplicate to another import. */
  const look = async (): Promise<ImportState[]> => {
    const states = (await imports.unfinished()).filter(isOwn);
    for (const { agentId } of states) busy.add(agentId);
    const files = await readdir(spoolDir).catch(() => []);
    const wanted = new Set(states.map((state) => state.name));
    await Promise.all(
      files
        .filter((name) => !wanted.has(name))
        .map((name) => rm(fileOf(name), { force: true }).catch(() => {})),
    );
    return states;
  };

  return {
    /** One at a time for each agent. Throws `CONFLICT`, `INVALID_REQUEST` naming the line, `UNAVAILABLE`. */
    async run(agentId: string, body: Readable, sender: ImportSender): Promise<ImportResult> {
      await looked;
      if (busy.has(agentId)) throw new GatewayError("CONFLICT", "Another import into this agent is running.");
      busy.add(agentId);
      try {
        return await run(agentId, body, sender);
      } finally {
        busy.delete(agentId);
      }
    },

    /** Removes what other gateways imported into an agent that this one has taken, and had not shown. */
    async dropOthers(agentId: string): Promise<void> {
      for (const state of await imports.unfinished()) {
        if (isOwn(state) || state.agentId !== agentId) continue;
        // Without its file, it is removed.
        await imports.store(fileOf(state.name), state, 0).catch((error: NodeJS.ErrnoException) => {
          if (error.code !== IMPORT_FAILED) throw error;
        });
      }
    },

    /** Finishes interrupted imports, and removes files that nothing needs. */
    async resume(): Promise<void> {
      const looking = look();
      looked = looking.catch(() => {});
      const states = await looking;
      for (const [index, state] of states.entries()) {
        try {
          // Storing says why a file cannot be read, and forgets it.
          const lines = await imports.check(fileOf(state.name), NEVER).catch(() => 0);
          const { imported, skipped } = await store(state, lines);
          log.info({ agent: state.agentId, imported, skipped }, "finished an interrupted import");
        } catch (error) {
          log.warn({ agent: state.agentId, err: error }, "could not finish an interrupted import");
        } finally {
          if (!states.slice(index + 1).some(({ agentId }) => agentId === state.agentId))
            busy.delete(state.agentId);
        }
      }
    },
  };
}

/** True while the import is recorded as in progress. */
async function interrupted(imports: Store["imports"], name: string): Promise<boolean> {
  try {
    return (await imports.unfinished()).some((state) => state.name === name);
  } catch {
    // The store is closed already; the next start looks again.
    return true;
  }
}

async function spool(file: string, body: Readable, takeSpace: (bytes: number) => void): Promise<void> {
  let handle: FileHandle | undefined;
  // It may fail while nothing reads it: before the file is open, or after a failure here.
  body.on("error", () => {});
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    handle = await open(file, "wx", 0o600);
    let size = 0;
    for await (const chunk of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      size += chunk.length;
      takeSpace(chunk.length);
      await handle.writeFile(chunk);
    }
    // The rows and their index are to come.
    takeSpace(2 * size);
  } catch (error) {
    // The sender must be able to read the answer.
    body.resume();
    throw error;
  } finally {
    await handle?.close();
  }
}

function readable(error: unknown, signal: AbortSignal): unknown {
  const { code, data, message, cause } = error as NodeJS.ErrnoException & { data?: BadLine };
  if (code === IMPORT_FAILED && cause instanceof GatewayError) return cause;
  if (code === BAD_LINE && data) {
    return new GatewayError("INVALID_REQUEST", `Line ${data.line} is not a message: ${data.message}.`, {
      details: [{ path: `line ${data.line}${data.path ? `: ${data.path}` : ""}`, message: data.message }],
      extra: { line: data.line },
    });
  }
  if (code === "ENOSPC" || /database or disk is full/.test(message)) {
    return new GatewayError("UNAVAILABLE", "The disk is too full for this import; nothing of it was kept.", {
      headers: { connection: "close" },
    });
  }
  if (code === "ECONNRESET" || code === "ERR_STREAM_PREMATURE_CLOSE" || signal.aborted) {
    return new GatewayError("INVALID_REQUEST", "The body ended before it was complete.");
  }
  return error;
}
