import { readFile } from "node:fs/promises";
import { runProgram } from "./process.ts";

/** Start time of a process, comparable for equality only; null when there is none, or only its zombie. */
export async function startTime(pid: number): Promise<string | null> {
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
