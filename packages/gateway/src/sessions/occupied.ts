import type { Holds } from "./holds.ts";
import type { Place } from "./place.ts";
import type { Pool } from "./pool.ts";
import type { Turns } from "./turns.ts";

/** Sessions in which a person has submitted something in the program's terminal: busy until that has ended. */
export function createOccupied(room: { pool: () => Pool; turns: () => Turns; holds: Holds }) {
  const { holds } = room;
  const whileOccupied = async (place: Place): Promise<void> => {
    while (place.occupied) await place.occupied;
  };

  return {
    /** Keeps the session and its process until then. */
    begin(place: Place, until: Promise<void>) {
      const { sessionId } = place;
      place.occupied = until;
      place.busy = true;
      void until.then(() => {
        // What a person has queued meanwhile keeps it.
        if (place.occupied !== until) return;
        place.occupied = undefined;
        if (!room.turns().running(sessionId)) room.pool().release(place);
      });
      // Whatever holds it otherwise ends the process or waits for the program itself.
      if (!holds.has(sessionId)) void holds.during(sessionId, () => whileOccupied(place));
    },
    /** Asks the program to end it; false when there is nothing. */
    async interrupt(sessionId: string): Promise<boolean> {
      const place = room.pool().get(sessionId);
      if (!place?.occupied) return false;
      // What was queued behind it begins when it ends.
      for (let { occupied } = place; occupied; { occupied } = place) {
        await place.runtime?.interrupt();
        await occupied;
      }
      return true;
    },
  };
}
