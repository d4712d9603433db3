import { expect, it } from "vitest";
import { createSequencer } from "../../../packages/gateway/src/events/sequencer.ts";
import { silentLogger } from "../../../packages/gateway/src/lib/logger.ts";
import type { Store } from "../../../packages/gateway/src/store/index.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";
import { createStore, memoryDatabase } from "../../fixtures/memory-db.ts";

/** A sequencer whose numbering fails while the disk is full. */
function rig() {
  const clock = manualClock();
  const store = createStore(memoryDatabase());
  const warnings: string[] = [];
  const disk = { full: false };
  const commit: Store["commit"] = (...changes) =>
    disk.full ? Promise.reject(new Error("database or disk is full")) : store.commit(...changes);
  const sequencer = createSequencer({
    store: { events: store.events, commit },
    clock,
    log: { ...silentLogger, warn: (_, message) => warnings.push(message) },
    onNumbered() {},
  });
  const tell = () => store.commit(store.events.add({ type: "config.reloaded", at: clock.now() }));
  const numbered = async () => (await store.events.bounds()).last;
  /** Lets so many attempts come about. */
  const attempts = async (count: number) => {
    for (let at = 0; at < count; at++) {
      clock.advance(1_000);
      await sequencer.flush();
    }
  };
  return { disk, warnings, sequencer, tell, numbered, attempts };
}

it("a disk that stays full is logged once, and what waited is numbered when there is room [EVENT-15]", async () => {
  const { disk, warnings, sequencer, tell, numbered, attempts } = rig();
  for (const round of [1, 2]) {
    disk.full = true;
    await tell();
    sequencer.wake();
    await attempts(60);
    expect(await numbered()).toBe(round - 1);
    expect(warnings).toHaveLength(round);
    disk.full = false;
    await attempts(1);
    expect(await numbered()).toBe(round);
  }
  sequencer.stop();
});
