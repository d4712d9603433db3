import { createHash } from "node:crypto";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import type { McpServer } from "../runtimes/index.ts";
import type { Found } from "./connect.ts";

/** A server that started is tried again after this, by the next process that wants it. */
const GOOD_MS = 10 * 60_000;
/** One that did not is tried again in the background. */
const BAD_MS = 60_000;
const MAX_VERDICTS = 1000;

interface Verdict {
  at: number;
  /** Undefined before the first look. */
  ok: boolean | undefined;
  looking: Promise<void> | undefined;
}

/** A connector's server as one agent would start it. */
export interface Candidate {
  id: string;
  server: McpServer;
  /** Folder in which a program starts. */
  cwd: string;
  secrets: readonly string[];
}

/** Which servers start, as far as it was tried lately. A verdict is about a server with its very settings. */
export function createServerHealth({
  look,
  clock,
  log,
}: {
  look(candidate: Candidate): Promise<Found>;
  clock: Clock;
  log: Logger;
}) {
  const verdicts = new Map<string, Verdict>();

  const verdictOf = ({ id, server, cwd }: Candidate): Verdict => {
    const place = "command" in server ? cwd : "";
    const key = createHash("sha256")
      .update(JSON.stringify([id, server, place]))
      .digest("hex");
    const verdict = verdicts.get(key) ?? { at: 0, ok: undefined, looking: undefined };
    // Those in use stay the longest.
    verdicts.delete(key);
    verdicts.set(key, verdict);
    if (verdicts.size > MAX_VERDICTS) verdicts.delete(verdicts.keys().next().value!);
    return verdict;
  };
  const record = (verdict: Verdict, { id }: Candidate, found: Found) => {
    if (!found.ok && verdict.ok !== false)
      log.warn({ connector: id, reason: found.error }, "connector is left out: it does not start");
    else if (found.ok && verdict.ok === false) log.info({ connector: id }, "connector starts again");
    verdict.ok = found.ok;
    verdict.at = clock.elapsed();
  };
  const tryOut = (verdict: Verdict, candidate: Candidate): Promise<void> => {
    verdict.looking ??= look(candidate)
      .then((found) => record(verdict, candidate, found))
      .finally(() => {
        verdict.looking = undefined;
      });
    return verdict.looking;
  };

  return {
    /** True unless the latest look failed. One that failed a while ago is looked at again meanwhile. */
    seemsFine(candidate: Candidate): boolean {
      const verdict = verdictOf(candidate);
      if (verdict.ok !== false) return true;
      if (clock.elapsed() - verdict.at >= BAD_MS) void tryOut(verdict, candidate);
      return false;
    },
    /** Whether it starts: waits for a look where none is known, or a good one is old. */
    async starts(candidate: Candidate): Promise<boolean> {
      const verdict = verdictOf(candidate);
      const old = clock.elapsed() - verdict.at;
      if (verdict.ok === undefined || (verdict.ok && old >= GOOD_MS)) await tryOut(verdict, candidate);
      else if (!verdict.ok && old >= BAD_MS) void tryOut(verdict, candidate);
      return verdict.ok === true;
    },
    /** Looks now, whatever is known. */
    async test(candidate: Candidate): Promise<Found> {
      const verdict = verdictOf(candidate);
      const found = await look(candidate);
      record(verdict, candidate, found);
      return found;
    },
  };
}
