import { type Clock, sleep } from "../../lib/clock.ts";
import type { Link } from "./link.ts";
import { quoted } from "./settings.ts";

const READ_MS = 5_000;
/** A gateway beats once a second. */
const BEATS_MS = 3_000;
const PAUSE_MS = 250;

/** Boot ids of the gateways that work on a schema at the moment. */
export async function living(link: Link, schema: string, clock: Clock): Promise<Set<string>> {
  const text = `SELECT boot_id, counter FROM ${quoted(schema)}.nodes`;
  const beats = async () => (await link.run([{ text, values: [] }], READ_MS))[0]!.rows;
  const before = new Map((await beats()).map(({ boot_id, counter }) => [String(boot_id), counter]));
  const found = new Set<string>();
  for (const until = clock.elapsed() + BEATS_MS; found.size < before.size && clock.elapsed() < until; ) {
    await sleep(clock, PAUSE_MS);
    for (const { boot_id, counter } of await beats())
      if (before.get(String(boot_id)) !== counter) found.add(String(boot_id));
  }
  return found;
}

/** Whether a gateway works on a schema at the moment. */
export async function isBeating(link: Link, schema: string, clock: Clock): Promise<boolean> {
  const text = `SELECT boot_id, counter FROM ${quoted(schema)}.nodes ORDER BY boot_id`;
  const beats = async () => JSON.stringify((await link.run([{ text, values: [] }], READ_MS))[0]!.rows);
  const before = await beats();
  if (before === "[]") return false;
  for (const until = clock.elapsed() + BEATS_MS; clock.elapsed() < until; ) {
    await sleep(clock, PAUSE_MS);
    if ((await beats()) !== before) return true;
  }
  return false;
}
