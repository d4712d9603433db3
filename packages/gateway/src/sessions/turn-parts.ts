import type { Database } from "../db/index.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import type { SessionStore } from "./store.ts";

/** A fast turn is over before its text would be stored twice; of a slow one a crash loses no more than this. */
const FIRST_PART_MS = 25;
const PART_EVERY_MS = 60;

/** Stores the text of a running turn piece by piece, so that a crash keeps it. */
export interface PartWriter {
  /** Begins to store the text as it grows. */
  begin(): void;
  /** Stores a row at once, also without text: that alone says the agent has begun. */
  mark(): void;
  /** Stores nothing from now on; true when there are rows to delete. */
  end(): boolean;
}

export function createPartWriter(room: {
  requestId: string;
  /** The reply's text so far. */
  text: () => string;
  db: Pick<Database, "write">;
  store: Pick<SessionStore, "addPart">;
  clock: Clock;
  log: Logger;
}): PartWriter {
  const { requestId, clock, log } = room;
  let cancel = () => {};
  let stored = 0;
  let written = false;
  let ended = false;

  const write = (text: string) => {
    stored += text.length;
    written = true;
    room.db
      .write(room.store.addPart(requestId, text))
      .catch((error) => log.error({ err: error }, "storing partial text failed"));
  };
  const arm = (ms: number) => {
    cancel();
    cancel = clock.after(ms, save);
  };
  const save = () => {
    const text = room.text().slice(stored);
    if (text !== "") write(text);
    arm(PART_EVERY_MS);
  };

  return {
    begin() {
      if (!ended) arm(FIRST_PART_MS);
    },
    mark() {
      if (ended || written) return;
      write(room.text());
    },
    end() {
      ended = true;
      cancel();
      return written;
    },
  };
}
