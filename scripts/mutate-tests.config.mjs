import { defineConfig } from "vitest/config";
import { BaseSequencer } from "vitest/node";

/** Tests that try many orders or run programs come last: what another notices at once need not wait for them. */
class QuickFirst extends BaseSequencer {
  async sort(files) {
    const slow = ({ moduleId }) => Number(/interleaving|journal|crash|attach|told-history/.test(moduleId));
    return files.toSorted((a, b) => slow(a) - slow(b) || a.moduleId.localeCompare(b.moduleId));
  }
}

// For `npm run mutate`: unit tests alone, of the room that is mutated, without building the gateway first.
export default defineConfig({
  test: {
    include: process.env.MUTATE_TESTS?.split(",") ?? [],
    testTimeout: 60_000,
    maxWorkers: 1,
    sequence: { sequencer: QuickFirst },
  },
});
