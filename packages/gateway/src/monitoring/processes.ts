import { readdir, readFile, readlink } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { basename } from "node:path";
import { runProgram } from "../lib/process.ts";

/** One process of the gateway. Never its arguments: they can hold secrets. */
export interface ProcessInfo {
  pid: number;
  ppid: number;
  /** Percent of one core, over the life of the process. */
  cpu: number;
  /** Resident memory in KiB. */
  rssKb: number;
  /** Name of the program. */
  command: string;
}

/** Ticks per second in /proc; the kernel's USER_HZ is 100 on every architecture that Node.js runs on. */
const TICKS = 100;
const PARALLEL = 32;
const PS_TIMEOUT_MS = 5_000;
/** Names that Node.js gives its main thread. */
const THREAD_NAME = /^(?:MainThread|node-MainThread)$/;

/** The process `root` with all its descendants, and the number of cores. */
export async function listProcesses(root: number = process.pid) {
  const all = process.platform === "linux" ? await fromProc() : await fromPs();
  const mine = withDescendants(all, root);
  const processes = await Promise.all(mine.map((entry) => entry.finish()));
  return { processes: processes.filter((entry) => entry !== null), numCpus: availableParallelism() };
}

/** A process as the first look finds it; `finish` reads the rest, and null when it has ended meanwhile. */
interface Found {
  pid: number;
  ppid: number;
  finish(): Promise<ProcessInfo | null>;
}

/** `root` first, then level by level. */
export function withDescendants<T extends { pid: number; ppid: number }>(
  all: readonly T[],
  root: number,
): T[] {
  const children = Map.groupBy(all, ({ ppid }) => ppid);
  const found = all.filter(({ pid }) => pid === root);
  const seen = new Set([root]);
  for (const entry of found) {
    for (const child of children.get(entry.pid) ?? []) {
      if (!seen.has(child.pid)) found.push(child);
      seen.add(child.pid);
    }
  }
  return found;
}

/** Fields of /proc/<pid>/stat that count here (proc_pid_stat(5)); the name may hold spaces and parentheses. */
export function parseStat(text: string) {
  const open = text.indexOf("(");
  const close = text.lastIndexOf(")");
  if (open < 0 || close < open) return null;
  const fields = text
    .slice(close + 2)
    .split(" ")
    .map(Number);
  // Numbered from 3, the state, on.
  const field = (number: number) => fields[number - 3] ?? 0;
  return {
    pid: Number(text.slice(0, open)),
    name: text.slice(open + 1, close),
    ppid: field(4),
    ticks: field(14) + field(15),
    startTicks: field(22),
  };
}

async function fromProc(): Promise<Found[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const uptime = Number((await readFile("/proc/uptime", "utf8")).split(" ", 1)[0]);
  const found: Found[] = [];
  const worker = async () => {
    for (let pid = pids.pop(); pid !== undefined; pid = pids.pop()) {
      const stat = parseStat(await readFile(`/proc/${pid}/stat`, "utf8").catch(() => ""));
      if (stat) found.push({ pid: stat.pid, ppid: stat.ppid, finish: () => finishFromProc(stat, uptime) });
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, worker));
  return found;
}

async function finishFromProc(
  stat: NonNullable<ReturnType<typeof parseStat>>,
  uptime: number,
): Promise<ProcessInfo | null> {
  const { pid, ppid, name, ticks, startTicks } = stat;
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => null);
  if (status === null) return null;
  const command = THREAD_NAME.test(name)
    ? basename(await readlink(`/proc/${pid}/exe`).catch(() => "node"))
    : name;
  const lived = uptime - startTicks / TICKS;
  return {
    pid,
    ppid,
    cpu: percent(ticks / TICKS, lived),
    rssKb: Number(/^VmRSS:\s*(\d+)/m.exec(status)?.[1] ?? 0),
    command,
  };
}

const percent = (used: number, lived: number) => (lived > 0 ? Math.round((used / lived) * 1000) / 10 : 0);

/** For systems without /proc. */
async function fromPs(): Promise<Found[]> {
  const { stdout } = await runProgram(["ps", "-axo", "pid=,ppid=,pcpu=,rss=,ucomm="], {
    env: { PATH: process.env.PATH ?? "/usr/bin:/bin", LC_ALL: "C" },
    timeoutMs: PS_TIMEOUT_MS,
  });
  return stdout.split("\n").flatMap((line) => {
    const match = /^(\d+)\s+(\d+)\s+([\d.]+)\s+(\d+)\s+(.+)$/.exec(line.trim());
    if (!match) return [];
    const [pid, ppid, cpu, rssKb] = match.slice(1, 5).map(Number) as [number, number, number, number];
    const info: ProcessInfo = { pid, ppid, cpu, rssKb, command: match[5]! };
    return [{ pid, ppid, finish: async () => info }];
  });
}
