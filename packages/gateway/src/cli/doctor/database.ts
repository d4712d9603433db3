import { open, stat } from "node:fs/promises";
import { join } from "node:path";
import { inspectStore, type StoreFacts } from "../../store/index.ts";
import { configuredPlace } from "../store-place.ts";
import { leftoverChildren } from "./home.ts";
import { checkPostgres } from "./postgres.ts";
import { type Check, fail, ok, type Patient, warn } from "./types.ts";

/** Time limit; checking stops before the next table once it is used up. */
const BUDGET_MS = 10_000;
const LOG_TAIL_BYTES = 256 * 1024;
/** A clock this far behind the gateway's own records was set back. */
const SLACK_MS = 5 * 60_000;
/** No gateway can have run before this. */
const FIRST_YEAR = 2025;
const LAST_YEAR = 2100;

/** Unix ms of the last log line, and the last line that reports a fatal error. */
async function readLogTail(
  file: string,
): Promise<{ newest: number | null; fatal: { time: number; msg: string } | null }> {
  const handle = await open(file).catch(() => null);
  if (!handle) return { newest: null, fatal: null };
  try {
    const { size } = await handle.stat();
    const length = Math.min(size, LOG_TAIL_BYTES);
    const { buffer } = await handle.read(Buffer.alloc(length), 0, length, size - length);
    let newest: number | null = null;
    let fatal: { time: number; msg: string } | null = null;
    for (const line of buffer.toString("utf8").split("\n")) {
      const { time, level, msg } = parseLine(line);
      const at = typeof time === "number" ? time : Date.parse(String(time));
      if (!Number.isFinite(at)) continue;
      newest = Math.max(newest ?? 0, at);
      const ending = level === "fatal" || (level === "error" && /the gateway stops/.test(String(msg)));
      if (ending) fatal = { time: at, msg: String(msg) };
    }
    return { newest, fatal };
  } finally {
    await handle.close();
  }
}

function parseLine(line: string): Record<string, unknown> {
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    return {};
  }
}

function clockCheck(newest: number): Check {
  const now = Date.now();
  const year = new Date(now).getFullYear();
  const fix = "Set the clock, and use a time service to keep it right.";
  if (year < FIRST_YEAR || year > LAST_YEAR)
    return fail("clock", `The clock says it is the year ${year}.`, fix);
  if (newest > now + SLACK_MS) {
    const ahead = new Date(newest).toISOString();
    return warn("clock", `The clock is behind the gateway's latest record, from ${ahead}.`, fix);
  }
  return ok("clock", new Date(now).toISOString());
}

function databaseCheck(facts: StoreFacts | Error | null): Check {
  const name = "database";
  const fix = "Stop the gateway, move gateway.db aside and restore a backup.";
  if (facts === null) return ok(name, "none yet; the first start creates it");
  if (facts instanceof Error) return fail(name, `It cannot be opened: ${facts.message}.`, fix);
  if (facts.problem !== null) return fail(name, `It is damaged: ${facts.problem}`, fix);
  const rest = facts.checked < facts.tables ? ` (the first ${facts.checked} of ${facts.tables} tables)` : "";
  return ok(name, `opens, and its check passes${rest}`);
}

/** Checks the database, and what it and the log show about the clock and the last shutdown. */
export async function checkDatabase(patient: Patient): Promise<Check[]> {
  const { paths, running, env } = patient;
  // A configuration that does not say where it is has a check of its own.
  const place = await configuredPlace(paths, env).catch(() => undefined);
  const there = place?.driver === "postgres" ? null : await stat(paths.database).catch(() => null);
  let facts: StoreFacts | Error | null = null;
  try {
    if (there) facts = await inspectStore(paths.database, BUDGET_MS);
  } catch (error) {
    facts = error as Error;
  }
  const known = facts instanceof Error ? null : facts;
  const log = await readLogTail(join(paths.logs, "gateway.log"));
  const crash: string[] = [];
  if (log.fatal) crash.push(`${new Date(log.fatal.time).toISOString()}: ${log.fatal.msg}`);
  const postgres = place?.driver === "postgres" ? await checkPostgres(place) : undefined;
  const cutOff = postgres ? postgres.cutOffTurns : known?.runningTurns;
  if (!running && cutOff) crash.push(`${cutOff} turns were cut off`);
  const children = await leftoverChildren(patient);
  if (children > 0) crash.push(`${children} agent processes were left running`);
  const told =
    crash.length === 0
      ? ok("last crash", "none found")
      : warn(
          "last crash",
          `${crash.join("; ")}.`,
          "See logs/gateway.log; the next start cleans up turns and processes.",
        );
  return [
    ...(postgres?.checks ?? [databaseCheck(facts)]),
    clockCheck(Math.max(known?.newest ?? 0, log.newest ?? 0)),
    told,
  ];
}
