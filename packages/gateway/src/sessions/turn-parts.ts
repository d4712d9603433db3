import type { Clock } from "../lib/clock.ts";
import { growingText } from "../lib/growing-text.ts";
import type { Logger } from "../lib/logger.ts";
import type { AgentUnits, Store } from "../store/index.ts";

/** A fast turn ends before its text would be stored twice; of a slow one, a crash loses no more than this. */
const FIRST_PART_MS = 25;
const PART_EVERY_MS = 60;
/** After a failure; nothing is lost meanwhile but by a crash. */
const AGAIN_MS = 1_000;

/** Stores the text of a running turn piece by piece, so that it survives a crash. */
export interface PartWriter {
  /** Takes the next piece of text; after the first, pieces are stored at intervals. */
  add(text: string): void;
  /** Stores a row at once, even without text: the row itself says that the agent has begun. Resolves when on disk. */
  mark(): Promise<void>;
  /** Stores nothing from now on; returns true when there are rows to delete. */
  end(): boolean;
}

/** Tells once that text cannot be stored, however many turns run, until some can. */
export interface PartTrouble {
  failed(error: unknown): void;
  over(): void;
}

export function createPartTrouble(log: Logger): PartTrouble {
  let told = false;
  return {
    failed(error) {
      if (!told) log.error({ err: error }, "could not store partial text; trying again");
      told = true;
    },
    over() {
      if (told) log.info({}, "partial text is stored again");
      told = false;
    },
  };
}

export function createPartWriter(room: {
  requestId: string;
  turns: Store["turns"];
  units: AgentUnits;
  clock: Clock;
  trouble: PartTrouble;
}): PartWriter {
  const { requestId, clock, trouble } = room;
  let cancel = () => {};
  let armed = false;
  /** Text received since the last row. */
  let waiting = growingText();
  let written = false;
  let ended = false;
  /** One at a time: what could not be stored comes before what follows it. */
  let writing: Promise<void> | undefined;

  const write = async () => {
    const text = waiting.toString();
    waiting = growingText();
    written = true;
    try {
      await room.units.commit(room.turns.addPart(requestId, text));
      trouble.over();
    } catch (error) {
      waiting = growingText(text + waiting.toString());
      trouble.failed(error);
      throw error;
    } finally {
      writing = undefined;
    }
  };
  const arm = (ms: number) => {
    armed = true;
    cancel = clock.after(ms, save);
  };
  const save = () => {
    if (ended) return;
    arm(PART_EVERY_MS);
    if (waiting.length === 0 || writing) return;
    writing = write();
    writing.catch(() => {
      if (ended) return;
      cancel();
      arm(AGAIN_MS);
    });
  };

  return {
    add(text) {
      if (ended) return;
      waiting.add(text);
      if (!armed) arm(FIRST_PART_MS);
    },
    async mark() {
      if (ended) return;
      writing ??= write();
      await writing;
    },
    end() {
      ended = true;
      cancel();
      return written;
    },
  };
}
