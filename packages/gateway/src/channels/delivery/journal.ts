import { createNotesFile } from "../../lib/notes-file.ts";
import type { OutboxRow } from "../../store/index.ts";
import type { SendOutcome } from "../types.ts";

/** An attempt at a row, numbered by `attempts`. */
export type Attempted = Pick<OutboxRow, "id" | "attempts">;

/** What the previous process recorded about an attempt in progress when it ended. */
export type Past =
  /** No byte of the request went out. */
  | "unsent"
  /** The request began, or it is unknown whether it did. */
  | "unsure"
  /** The provider's answer. */
  | SendOutcome;

/** An attempt in progress. */
export interface Flight extends Disposable {
  /**
   * Records that the request goes out now.
   * @throws when that could not be recorded: then nothing may go out.
   */
  begun(row: Attempted): void;
  /** Records the provider's answer, best effort: without it, the attempt counts as begun. */
  answered(row: Attempted, outcome: SendOutcome): void;
  /** The database has the outcome. */
  [Symbol.dispose](): void;
}

/** Names the system's start and the file's first moment. */
const HEADER = /^boot (\S+) since (\d+)$/;
const LINE = /^(?:begun (\d+) (\d+)|answered (\d+) (\d+) (\{.*\}))$/s;
/** The file is rewritten from this size on, when it is twice as large as needed. */
const MIN_GARBAGE_BYTES = 64 * 1024;
/** Far more than the attempts of some minutes; a larger file is not one of ours. */
const MAX_BYTES = 64 * 1024 * 1024;
const MAX_REASON_CHARS = 500;
const ANSWERS: ReadonlySet<SendOutcome["status"]> = new Set(["sent", "retry", "markup", "failed"]);

const keyOf = ({ id, attempts }: Attempted) => `${id} ${attempts}`;

function outcomeIn(json: string): SendOutcome | undefined {
  try {
    const outcome = JSON.parse(json) as SendOutcome;
    return ANSWERS.has(outcome.status) ? outcome : undefined;
  } catch {
    return undefined;
  }
}

/**
 * What a journal says. A last line that was cut off was never acted upon; anything else that cannot be read means that
 * nothing in it can be trusted.
 */
export function readJournal(
  text: string | undefined,
  boot: string | undefined,
): (row: Attempted & { sending_at: number | null }) => Past {
  const unsure = () => "unsure" as const;
  const [first, ...lines] = (text ?? "").split("\n").slice(0, -1);
  const header = HEADER.exec(first ?? "");
  if (!header || boot === undefined || header[1] !== boot) return unsure;
  const since = Number(header[2]);
  const known = new Map<string, Past>();
  for (const line of lines) {
    const found = LINE.exec(line);
    const outcome = found?.[5] === undefined ? "unsure" : outcomeIn(found[5]);
    if (!found || !outcome) return unsure;
    known.set(`${found[1] ?? found[3]} ${found[2] ?? found[4]}`, outcome);
  }
  // What was sent before the file began is not in it: the row is of an older database.
  return (row) => known.get(keyOf(row)) ?? ((row.sending_at ?? 0) < since ? "unsure" : "unsent");
}

/**
 * Says of each attempt at a row whether its request began, written at the last moment before it does: what a killed
 * process wrote stays with the system, so that only an attempt under way in that very moment is of unknown outcome. A
 * machine that went down may have lost lines; its next start has another boot id.
 */
export function createJournal({
  path,
  boot,
  now,
}: {
  path: string;
  boot(): Promise<string | undefined>;
  now(): number;
}) {
  let bootId: string | undefined;
  const file = createNotesFile(path, MAX_BYTES);
  let live = 0;
  /** The newest line of each attempt since the file's first moment, with when the attempt was marked as under way. */
  let entries = new Map<string, { at: number; line: string }>();
  /** When the attempts under way were marked as such. */
  const flights = new Set<{ at: number }>();

  /** A new file with what may still be asked for. The old one counts until the new one is whole. */
  const startAnew = (): void => {
    const since = Math.min(now(), ...[...flights].map(({ at }) => at));
    const kept = new Map([...entries].filter(([, { at }]) => at >= since));
    const lines = [...kept.values()].map(({ line }) => line).join("");
    file.replace(`boot ${bootId ?? "unknown"} since ${since}\n${lines}`);
    entries = kept;
    live = file.size ?? 0;
  };

  const append = (row: Attempted, at: number, line: string): void => {
    if (file.size === undefined) startAnew();
    file.append(line);
    entries.set(keyOf(row), { at, line });
  };

  return {
    /** What the process before left. */
    async past() {
      bootId = await boot();
      return readJournal(file.read(), bootId);
    },

    /** Begins a new file, once what the process before left is decided; tried again with the first attempt. */
    start(): void {
      try {
        startAnew();
      } catch {
        // The first attempt says so.
      }
    },

    /** Before the row is marked as being sent, at this time. */
    flight(at: number): Flight {
      const own = { at };
      flights.add(own);
      return {
        begun: (row) => append(row, at, `begun ${keyOf(row)}\n`),
        answered(row, outcome) {
          if (!ANSWERS.has(outcome.status)) return;
          const short = {
            ...outcome,
            ...("reason" in outcome && { reason: outcome.reason.slice(0, MAX_REASON_CHARS) }),
          };
          try {
            append(row, at, `answered ${keyOf(row)} ${JSON.stringify(short)}\n`);
          } catch {
            // Begun is what it stays.
          }
        },
        [Symbol.dispose]() {
          flights.delete(own);
          if ((file.size ?? 0) <= MIN_GARBAGE_BYTES + 2 * live) return;
          try {
            startAnew();
          } catch {
            // The old file goes on.
          }
        },
      };
    },

    close: () => file.close(),
  };
}
export type Journal = ReturnType<typeof createJournal>;
