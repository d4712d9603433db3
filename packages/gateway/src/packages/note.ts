import { readFile, rm } from "node:fs/promises";
import { writeFileAtomic } from "../lib/atomic-file.ts";
import { bootId } from "../lib/boot-id.ts";
import { isRecord } from "../lib/is-record.ts";
import { startTime } from "../lib/start-time.ts";
import { isVersion } from "./version.ts";

/** An update of the gateway that has begun, as a later start finds it when the gateway was killed meanwhile. */
export interface BegunUpdate {
  from: string | null;
  to: string;
  /** What installs it goes on by itself. */
  installer: { pid: number; start: string; boot: string } | null;
}

/** The file that remembers an update while it is under way. */
export interface UpdateNote {
  begin(update: Omit<BegunUpdate, "installer">, pid: number): Promise<void>;
  /** Null when no update has begun, or what is there is none. */
  read(): Promise<BegunUpdate | null>;
  remove(): Promise<void>;
}

export function createUpdateNote(file: string): UpdateNote {
  return {
    async begin(update, pid) {
      const start = await startTime(pid);
      const boot = (await bootId()) ?? "";
      const installer = start === null ? null : { pid, start, boot };
      await writeFileAtomic(file, JSON.stringify({ ...update, installer }), { mode: 0o600 });
    },
    async read() {
      try {
        const { from, to, installer } = JSON.parse(await readFile(file, "utf8"));
        if (!isVersion(to) || !(from === null || isVersion(from))) return null;
        return { from, to, installer: isRecord(installer) ? (installer as never) : null };
      } catch {
        return null;
      }
    },
    remove: () => rm(file, { force: true }),
  };
}

/** True while the program that an earlier start of the gateway began to install with still runs. */
export async function isInstalling({ installer }: BegunUpdate): Promise<boolean> {
  if (installer === null || !Number.isInteger(installer.pid) || installer.pid <= 1) return false;
  if (installer.boot !== ((await bootId()) ?? "")) return false;
  return (await startTime(installer.pid)) === installer.start;
}
