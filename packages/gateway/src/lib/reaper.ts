import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { bootId } from "./boot-id.ts";
import type { ChildMark, Reaper } from "./child-mark.ts";
import { readNamed } from "./guarded/index.ts";
import type { Logger } from "./logger.ts";
import { startTime } from "./start-time.ts";

export type { ChildMark, Reaper };

const MAX_RECORD_BYTES = 64 * 1024;

const MARKER = "AGENT_GATEWAY_OWNER";
/** A process that is killed while it forks leaves a child that the first look did not see. */
const PASSES = 3;
const PASS_PAUSE_MS = 50;

/** Who started a process: pids are reused, a pid with its start time within one boot is not. */
interface Owner {
  pid: number;
  start: string;
}
interface ChildRecord extends Owner {
  boot: string;
  owner: Owner;
}

/**
 * Keeps children from outliving the gateway.
 * @param dir folder for the records, `$GATEWAY_HOME/run/children`; created when missing.
 */
export async function createReaper({ dir, log }: { dir: string; log: Logger }): Promise<Reaper> {
  await mkdir(dir, { recursive: true });
  // Start times count from the boot.
  const boot = (await bootId())?.slice(0, 8) ?? "none";
  const self: Owner = { pid: process.pid, start: (await startTime(process.pid)) ?? "0" };
  const home = createHash("sha256").update(resolve(dir)).digest("hex").slice(0, 16);
  const live = new Map<number, Promise<void>>();

  process.on("exit", () => {
    for (const pid of live.keys()) killQuietly(-pid);
  });

  /** Whether the owner still runs; its children are then its own business. */
  const alive = async (owner: Owner) => (await startTime(owner.pid)) === owner.start;

  /** Linux: processes that carry a mark of this home, with what it says; all but this one. */
  async function marked(): Promise<{ pid: number; value: string }[]> {
    const wanted = Buffer.from(`${MARKER}=${home}:`);
    const found: { pid: number; value: string }[] = [];
    for (const pid of await allPids()) {
      const environ = await readFile(`/proc/${pid}/environ`).catch(() => null);
      const at = environ?.indexOf(wanted) ?? -1;
      if (environ === null || at === -1 || (at > 0 && environ[at - 1] !== 0)) continue;
      const end = environ.indexOf(0, at);
      const value = environ.toString("utf8", at + wanted.length, end === -1 ? environ.length : end);
      if (pid !== self.pid) found.push({ pid, value });
    }
    return found;
  }

  async function markedLeftovers(): Promise<number[]> {
    const found: number[] = [];
    for (const { pid, value } of await marked()) {
      const [bootOf, ownerPid, ownerStart] = value.split(":");
      const owner = { pid: Number(ownerPid), start: ownerStart ?? "" };
      if (bootOf === boot && !(await alive(owner))) found.push(pid);
    }
    return found;
  }

  /** Kills what `pick` finds until nothing is left, or it will not go. */
  async function killAll(pick: () => Promise<readonly number[]>, killed = new Set<number>()) {
    for (let pass = 0; pass < PASSES; pass++) {
      const pids = await pick();
      if (pids.length === 0) break;
      for (const pid of pids) {
        killQuietly(pid);
        killed.add(pid);
      }
      await delay(PASS_PAUSE_MS);
    }
    return killed;
  }

  const own = `${boot}:${self.pid}:${self.start}`;
  let made = 0;
  /** Marks whose children have ended. Many end at the same time, and one look finds them all. */
  const ended = new Set<string>();
  let sweeping: Promise<unknown> | undefined;
  const sweepEnded = async () => {
    try {
      while (ended.size > 0) {
        const values = new Set(ended);
        await killAll(async () =>
          (await marked()).filter(({ value }) => values.has(value)).map(({ pid }) => pid),
        );
        for (const value of values) ended.delete(value);
      }
    } catch (error) {
      // What is left in `ended` is looked for again when the next program ends.
      log.warn({ err: error }, "could not look for leftover processes");
    }
    sweeping = undefined;
  };

  /** Leaders on record that still are the process that was recorded, of gateways that are gone. */
  async function recordedLeftovers(): Promise<number[]> {
    const found: number[] = [];
    for (const name of await readdir(dir)) {
      const path = join(dir, name);
      const record = parseRecord(await readNamed(path, MAX_RECORD_BYTES).then(String, () => ""));
      if (record?.boot === boot) {
        if (await alive(record.owner)) continue;
        if ((await startTime(record.pid)) === record.start) found.push(record.pid);
      }
      await rm(path, { force: true });
    }
    return found;
  }

  return {
    mark() {
      const value = `${own}:${++made}`;
      return { value, env: { [MARKER]: `${home}:${value}` } };
    },
    async sweep({ value }) {
      ended.add(value);
      sweeping ??= sweepEnded();
      await sweeping;
    },
    async sweepAll() {
      await killAll(async () =>
        (await marked()).filter(({ value }) => value.startsWith(`${own}:`)).map(({ pid }) => pid),
      );
    },
    track(pid) {
      const recorded = (async () => {
        const start = await startTime(pid);
        if (start === null) return;
        await writeFile(
          join(dir, String(pid)),
          JSON.stringify({ pid, start, boot, owner: self } satisfies ChildRecord),
        );
      })().catch((error: unknown) => log.warn({ err: error, pid }, "could not record a child process"));
      live.set(pid, recorded);
      return recorded;
    },
    async untrack(pid) {
      await live.get(pid);
      live.delete(pid);
      await rm(join(dir, String(pid)), { force: true }).catch(() => {});
    },
    async reapLeftovers() {
      const killed = new Set<number>();
      for (const pid of await recordedLeftovers()) {
        killQuietly(-pid);
        killed.add(pid);
      }
      await killAll(markedLeftovers, killed);
      if (killed.size > 0)
        log.warn({ killed: killed.size }, "killed processes that an earlier run left behind");
      return killed.size;
    },
  };
}

function parseRecord(text: string): ChildRecord | null {
  try {
    const { pid, start, boot, owner } = JSON.parse(text) as Partial<ChildRecord>;
    if (!Number.isInteger(pid) || pid! <= 1 || typeof start !== "string" || !owner) return null;
    return { pid: pid!, start, boot: boot ?? "", owner };
  } catch {
    return null;
  }
}

async function allPids(): Promise<number[]> {
  if (process.platform !== "linux") return [];
  return (await readdir("/proc")).map(Number).filter((pid) => pid > 1);
}

function killQuietly(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // Already gone.
  }
}
