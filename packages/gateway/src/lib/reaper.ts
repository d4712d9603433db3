import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "./logger.ts";
import { runProgram } from "./process.ts";

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

export interface Reaper {
  /** Goes into every child's environment, is inherited by its descendants, and identifies them to the next start. */
  readonly marker: Readonly<Record<string, string>>;
  /** Remembers a group leader on disk, and kills its group when this process exits in any way it can notice. */
  track(pid: number): Promise<void>;
  untrack(pid: number): Promise<void>;
  /** Kills what gateways of this home that are gone left running. Resolves to the number of processes killed. */
  reapLeftovers(): Promise<number>;
}

/**
 * Keeps children from outliving the gateway.
 * @param dir folder for the records, `$GATEWAY_HOME/run/children`; created when missing.
 */
export async function createReaper({ dir, log }: { dir: string; log: Logger }): Promise<Reaper> {
  await mkdir(dir, { recursive: true });
  const boot = await bootId();
  const self: Owner = { pid: process.pid, start: (await startTime(process.pid)) ?? "0" };
  const home = createHash("sha256").update(resolve(dir)).digest("hex").slice(0, 16);
  const live = new Map<number, Promise<void>>();

  process.on("exit", () => {
    for (const pid of live.keys()) killQuietly(-pid);
  });

  /** Whether the owner still runs; its children are then its own business. */
  const alive = async (owner: Owner) => (await startTime(owner.pid)) === owner.start;

  /** Linux: every process that carries this home's marker and whose gateway is gone. */
  async function markedLeftovers(): Promise<number[]> {
    const wanted = Buffer.from(`${MARKER}=${home}:`);
    const found: number[] = [];
    for (const pid of await allPids()) {
      const environ = await readFile(`/proc/${pid}/environ`).catch(() => null);
      const at = environ?.indexOf(wanted) ?? -1;
      if (environ === null || at === -1 || (at > 0 && environ[at - 1] !== 0)) continue;
      const end = environ.indexOf(0, at);
      const [bootOf, ownerPid, ownerStart] = environ
        .toString("utf8", at + wanted.length, end === -1 ? environ.length : end)
        .split(":");
      const owner = { pid: Number(ownerPid), start: ownerStart ?? "" };
      if (bootOf === boot && pid !== self.pid && !(await alive(owner))) found.push(pid);
    }
    return found;
  }

  /** Leaders on record that still are the process that was recorded, of gateways that are gone. */
  async function recordedLeftovers(): Promise<number[]> {
    const found: number[] = [];
    for (const name of await readdir(dir)) {
      const path = join(dir, name);
      const record = parseRecord(await readFile(path, "utf8").catch(() => ""));
      if (record?.boot === boot) {
        if (await alive(record.owner)) continue;
        if ((await startTime(record.pid)) === record.start) found.push(record.pid);
      }
      await rm(path, { force: true });
    }
    return found;
  }

  return {
    marker: { [MARKER]: `${home}:${boot}:${self.pid}:${self.start}` },
    track(pid) {
      const recorded = (async () => {
        const start = await startTime(pid);
        if (start === null) return;
        await writeFile(
          join(dir, String(pid)),
          JSON.stringify({ pid, start, boot, owner: self } satisfies ChildRecord),
        );
      })().catch((error: unknown) => log.warn({ err: error, pid }, "child process could not be recorded"));
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
      for (let pass = 0; pass < PASSES; pass++) {
        const marked = await markedLeftovers();
        if (marked.length === 0) break;
        for (const pid of marked) {
          killQuietly(pid);
          killed.add(pid);
        }
        await delay(PASS_PAUSE_MS);
      }
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

/** Distinguishes boots, since start times count from the boot. */
async function bootId(): Promise<string> {
  const text = await readFile("/proc/sys/kernel/random/boot_id", "utf8").catch(() => "none");
  return text.trim().slice(0, 8);
}

/** Start time of a process, comparable for equality only; null when there is none, or only its zombie. */
async function startTime(pid: number): Promise<string | null> {
  if (process.platform === "linux") {
    const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => null);
    // proc_pid_stat(5): the name, in parentheses, can hold anything; state is field 3, start time field 22.
    const fields = text?.slice(text.lastIndexOf(")") + 2).split(" ");
    return fields?.[19] === undefined || fields[0] === "Z" ? null : fields[19];
  }
  const { code, stdout } = await runProgram(["/bin/ps", "-o", "lstart=", "-p", String(pid)], {
    env: { LC_ALL: "C" },
    timeoutMs: 2000,
  });
  return code === 0 && stdout.trim() !== "" ? stdout.trim() : null;
}

function killQuietly(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // Already gone.
  }
}
