import type { Clock } from "../lib/clock.ts";
import { growingText } from "../lib/growing-text.ts";
import type { Logger } from "../lib/logger.ts";
import type { AgentUnits, Store } from "../store/index.ts";

/** A fast turn ends before its text would be stored twice; of a slow one, a crash loses no more than this. */
const FIRST_PART_MS = 25;
const PART_EVERY_MS = 60;

/** Stores the text of a running turn piece by piece, so that it survives a crash. */
export interface PartWriter {
  /** Takes the next piece of text; after the first, pieces are stored at intervals. */
  add(text: string): void;
  /** Stores a row at once, even without text: the row itself says that the agent has begun. Resolves when on disk. */
  mark(): Promise<void>;
  /** Stores nothing from now on; returns true when there are rows to delete. */
  end(): boolean;
}

export function createPartWriter(room: {
  requestId: string;
  turns: Store["turns"];
  units: AgentUnits;
  clock: Clock;
  log: Logger;
}): PartWriter {
  const { requestId, clock, log } = room;
  let cancel = () => {};
  let armed = false;
  /** Text received since the last row. */
  let waiting = growingText();
  let written = false;
  let ended = false;

  const write = async () => {
    const text = waiting.toString();
    waiting = growingText();
    written = true;
    await room.units.commit(room.turns.addPart(requestId, text));
  };
  const arm = (ms: number) => {
    armed = true;
    cancel = clock.after(ms, save);
  };
  const save = () => {
    if (ended) return;
    if (waiting.length > 0)
      write().catch((error) => log.error({ err: error }, "could not store partial text"));
    arm(PART_EVERY_MS);
  };

  return {
    add(text) {
      if (ended) return;
      waiting.add(text);
      if (!armed) arm(FIRST_PART_MS);
    },
    async mark() {
      if (!ended) await write();
    },
    end() {
      ended = true;
      cancel();
      return written;
    },
  };
}
