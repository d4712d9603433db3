/** Rules of how the sources are arranged, which `scripts/check.mjs` holds. */
export const arrangement: Record<string, string> = {
  "ARRANGE-1": "each import rule fires on a violation, and holds for every folder without naming it",
  "ARRANGE-2": "the clock, timers and the network are used directly only where they belong",
  "ARRANGE-3": "the page and the channels read Markdown as the same blocks",
};
