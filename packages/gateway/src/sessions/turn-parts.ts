import type { Database } from "../db/index.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import type { SessionStore } from "./store.ts";

/** A fast turn is over before its text would be stored twice; of a slow one a crash loses no more than this. */
const FIRST_PART_MS = 25;
const PART_EVERY_MS = 60;

/** Stores the text of a running turn piece by piece, so that a crash keeps it. */
export interface PartWriter {
  /** Takes the next piece of text; from the first on, what came is stored now and then. */
  add(text: string): void;
  /** Stores a row at once, also without text: that alone says the agent has begun. Resolves when it is on disk. */
  mark(): Promise<void>;
  /** Stores nothing from now on; true when there are rows to delete. */
  end(): boolean;
}

export function createPartWriter(room: {
  requestId: string;
  db: Pick<Database, "write">;
  store: Pick<SessionStore, "addPart">;
  clock: Clock;
  log: Logger;
}): PartWriter {
  const { requestId, clock, log } = room;
  let cancel = () => {};
  let armed = false;
  /** What came since the last row. */
  let waiting = "";
  let written = false;
  let ended = false;

  const write = async () => {
    const text = waiting;
    waiting = "";
    written = true;
    await room.db.write(room.store.addPart(requestId, text));
  };
  const arm = (ms: number) => {
    armed = true;
    cancel = clock.after(ms, save);
  };
  const save = () => {
    if (ended) return;
    if (waiting !== "") write().catch((error) => log.error({ err: error }, "storing partial text failed"));
    arm(PART_EVERY_MS);
  };

  return {
    add(text) {
      if (ended) return;
      waiting += text;
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
