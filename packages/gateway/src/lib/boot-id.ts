import { readFile } from "node:fs/promises";

/** Distinguishes the times that the machine was started; undefined where the system does not tell. */
export async function bootId(): Promise<string | undefined> {
  const text = await readFile("/proc/sys/kernel/random/boot_id", "utf8").catch(() => "");
  return text.trim() || undefined;
}
