import { basename, dirname, join } from "node:path";
import { GatewayError } from "@agent-gateway/contract";
import type { AuthenticationCreds, AuthenticationState, SignalDataSet, SignalDataTypeMap } from "baileys";
import type { Clock } from "../../lib/clock.ts";
import {
  type Folder,
  inState,
  openState,
  readStateFile,
  sweepLeftovers,
  writeState,
} from "../../lib/guarded/index.ts";
import { createMutex } from "../../lib/mutex.ts";
import type { InboundMessage } from "../types.ts";
import { openKeyJournal } from "./key-journal.ts";
import type { Library } from "./library.ts";

/** Among the keys: what a message said, from the moment that its cipher went on until the inbox has it. */
export const SPOOL = "inbound";
const CREDS = "creds.json";
const MAX_CREDS_BYTES = 16 * 1024 * 1024;
const MAX_ENTRIES = 100_000;
const KEYS = "keys-journal.jsonl";
/** The files of this module, and what a crash in mid-write leaves of them. */
const OWN = /^(?:creds\.json|keys-journal\.jsonl|\.(?:creds\.json|keys-journal\.jsonl)\.[0-9a-f]+\.tmp)$/;

const UNREADABLE =
  "The stored login of the linked device cannot be read: creds.json must be a regular file without hard links.";

/** What a socket works with, read from disk. */
export interface OpenCredentials {
  state: AuthenticationState;
  /** Writes `state.creds` once the phone confirmed the link; calls that wait together are one write. */
  save(): Promise<void>;
  /** Messages that were deciphered and may not be in the inbox yet, oldest first. */
  spooled(): InboundMessage[];
  /** Deletes those that are. */
  settle(eventIds: readonly string[]): Promise<void>;
  /** Waits for writes in progress. */
  close(): Promise<void>;
}

/** The linked device's credentials in its folder. Other files in the folder are left alone. */
export interface Credentials {
  /** JID of the linked number; undefined while there is none. Needs no library. @throws {GatewayError} `CONFLICT` */
  linkedAs(): Promise<string | undefined>;
  /** Opens existing credentials, or creates new ones if never linked. @throws {GatewayError} `CONFLICT` when unreadable */
  open(library: Library): Promise<OpenCredentials>;
  /** Removes the credentials, and the folder when nothing else is in it. */
  wipe(): Promise<void>;
}

/**
 * True when the phone confirmed the link: only then the account's signature is there. `registered` with the number
 * of a device in the JID means the same in credentials that were made elsewhere.
 */
export function isLinked(
  creds: Partial<Pick<AuthenticationCreds, "me" | "account" | "registered">>,
): boolean {
  if (!creds.me?.id) return false;
  return Boolean(creds.account) || creds.registered === true;
}

export function createCredentials(folder: string, clock: Clock): Credentials {
  const file = join(folder, CREDS);
  const read = () =>
    readStateFile(file, MAX_CREDS_BYTES).catch((error: unknown) => {
      // Never as if there were none: a link that is taken for none is lost.
      throw new GatewayError("CONFLICT", UNREADABLE, { cause: error });
    });

  const removeOwn = async (open: Folder) => {
    for await (const { name } of open.entries(MAX_ENTRIES)) if (OWN.test(name)) await open.remove(name);
  };

  const parse = <T>(
    text: string | undefined,
    reviver?: (key: string, value: unknown) => unknown,
  ): T | undefined => {
    try {
      return text === undefined ? undefined : (JSON.parse(text, reviver) as T);
    } catch {
      return undefined;
    }
  };

  return {
    async linkedAs() {
      const creds = parse<Partial<AuthenticationCreds>>(await read());
      return creds && isLinked(creds) ? creds.me?.id : undefined;
    },

    async open(library) {
      const { replacer, reviver } = library.BufferJSON;
      const stored = parse<AuthenticationCreds>(await read(), reviver);
      const state = await openState(folder);
      const linked = stored !== undefined && isLinked(stored);
      try {
        await sweepLeftovers(state, CREDS, clock.now());
        // Keys of an attempt that never ended in a link belong to no one.
        if (!linked) await removeOwn(state);
      } catch (error) {
        await state.close();
        throw error;
      }
      const creds = linked ? stored : library.initAuthCreds();
      const journal = await openKeyJournal(state, KEYS);
      const locked = createMutex();
      let asked = false;

      const keys = {
        get<T extends keyof SignalDataTypeMap>(type: T, ids: string[]) {
          const found: { [id: string]: SignalDataTypeMap[T] } = {};
          for (const id of ids) {
            const text = journal.get(`${type}/${id}`);
            if (text === undefined) continue;
            const value: unknown = JSON.parse(text, reviver);
            found[id] = (
              type === "app-state-sync-key"
                ? library.proto.Message.AppStateSyncKeyData.fromObject(value as { [name: string]: unknown })
                : value
            ) as SignalDataTypeMap[T];
          }
          return found;
        },
        set(data: SignalDataSet) {
          const change = Object.entries(data).flatMap(([type, values]) =>
            Object.entries(values ?? {}).map(
              ([id, value]) =>
                [`${type}/${id}`, value === null ? null : JSON.stringify(value, replacer)] as const,
            ),
          );
          return change.length > 0 ? journal.set(change) : Promise.resolve();
        },
      };

      return {
        state: { creds, keys },
        save() {
          if (asked || !(linked || creds.account)) return locked(() => {});
          asked = true;
          return locked(() => {
            asked = false;
            return writeState(file, JSON.stringify(creds, replacer));
          });
        },
        spooled: () => journal.all(`${SPOOL}/`).map((text) => JSON.parse(text) as InboundMessage),
        settle: (eventIds) =>
          eventIds.length > 0
            ? journal.set(eventIds.map((id) => [`${SPOOL}/${id}`, null] as const))
            : Promise.resolve(),
        async close() {
          await locked(() => journal.close());
        },
      };
    },

    async wipe() {
      await inState(folder, removeOwn);
      await inState(dirname(folder), (outer) => outer.removeFolder(basename(folder))).catch(() => {});
    },
  };
}
