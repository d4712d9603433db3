import { dirname } from "node:path";
import { GatewayError } from "@agent-gateway/contract";
import { parseForEdit, stringifyLike } from "../../config/index.ts";
import type { Clock } from "../../lib/clock.ts";
import { inState, openStateFile, readStart, writeState } from "../../lib/guarded/index.ts";
import type { Logger } from "../../lib/logger.ts";
import { createMutex } from "../../lib/mutex.ts";
import { PathError } from "../../lib/safe-path.ts";
import {
  type AccessState,
  type FirstPolicy,
  freshRaw,
  migrateRaw,
  type Raw,
  readState,
} from "./access-state.ts";
import type { FileChannel } from "./policy.ts";

/** The access file of one agent's channel. Read again whenever it has changed. */
export interface AccessFile {
  /** Its current contents: the defaults if there is no file, undefined while it is broken. */
  read(): Promise<AccessState | undefined>;
  /** The same for judging a message: also undefined when the file has just vanished, as it may be being replaced. */
  readToJudge(): Promise<AccessState | undefined>;
  /**
   * Changes it, one change after another; written only if `edit` changed something.
   * @throws {GatewayError} `CONFLICT` while it is broken; the file is then left as it is.
   */
  change<T>(edit: (raw: Raw, state: AccessState) => T | Promise<T>): Promise<T>;
}

/** A larger file was written neither by hand nor by the gateway. */
const MAX_BYTES = 16 * 1024 * 1024;
/** A file that changed less than this before it was read may change again and look the same. */
const UNSETTLED_MS = 100;
/** Editors that move the old file away before they write the new one take no longer than this. */
const REPLACED_MS = 2_000;
const STYLE = '{\n  "style": true\n}\n';

interface Seen {
  signature: string;
  settled: boolean;
  text: string | undefined;
  state: AccessState | undefined;
}

function parse(text: string): Raw | undefined {
  try {
    const raw: unknown = parseForEdit(text);
    return typeof raw === "object" && raw !== null && !Array.isArray(raw) ? (raw as Raw) : undefined;
  } catch {
    return undefined;
  }
}

const isMissing = (error: unknown) => error instanceof PathError && error.problem === "missing";

export function createAccessFile(
  path: string,
  channel: FileChannel,
  { clock, log, first }: { clock: Clock; log: Logger; first: () => FirstPolicy | undefined },
): AccessFile {
  const locked = createMutex();
  let seen: Seen | undefined;
  let swept = false;
  let existed = false;
  let goneSince: number | undefined;

  async function load(): Promise<Seen> {
    const now = clock.now();
    try {
      const { handle } = await openStateFile(path);
      try {
        const found = await handle.stat({ bigint: true });
        const signature = [found.dev, found.ino, found.size, found.mtimeNs, found.ctimeNs].join();
        if (seen?.signature === signature && seen.settled) return seen;
        const settled = now - Number(found.mtimeNs / 1_000_000n) > UNSETTLED_MS;
        const text = found.size > MAX_BYTES ? "" : (await readStart(handle, MAX_BYTES)).toString("utf8");
        const raw = parse(text);
        return { signature, settled, text, state: raw && readState(raw, channel) };
      } finally {
        await handle.close();
      }
    } catch (error) {
      if (isMissing(error)) {
        const state = readState(freshRaw(channel, first()), channel);
        return { signature: "missing", settled: false, text: undefined, state };
      }
      return { signature: "unreadable", settled: false, text: undefined, state: undefined };
    }
  }

  async function look(): Promise<Seen> {
    const next = await load();
    if (!next.state && (seen === undefined || seen.state)) {
      log.error({ channel }, "the access file is broken: no one is admitted until it is fixed");
    } else if (next.state && seen && !seen.state) {
      log.info({ channel }, "the access file can be read again");
    }
    seen = next;
    const missing = next.signature === "missing";
    if (!missing) existed = true;
    goneSince = missing && existed ? (goneSince ?? clock.elapsed()) : undefined;
    if (goneSince !== undefined && clock.elapsed() - goneSince > REPLACED_MS) {
      existed = false;
      goneSince = undefined;
    }
    return next;
  }

  return {
    read: async () => (await look()).state,
    async readToJudge() {
      const { state } = await look();
      return goneSince === undefined ? state : undefined;
    },
    change: (edit) =>
      locked(async () => {
        // A link in place of the folder is reported as such, even if nothing would have to be written.
        await inState(dirname(path), async () => {});
        const { state, text } = await look();
        if (!state) {
          throw new GatewayError("CONFLICT", "The channel's access file is damaged; fix it by hand first.");
        }
        const raw = (text !== undefined && parse(text)) || freshRaw(channel, first());
        const before = stringifyLike(raw, text ?? STYLE);
        migrateRaw(raw);
        const result = await edit(raw, state);
        const after = stringifyLike(raw, text ?? STYLE);
        if (after !== before) {
          await writeState(path, after, swept ? undefined : clock.now());
          swept = true;
          seen = undefined;
        }
        return result;
      }),
  };
}
