import { describe, expect, it } from "vitest";
import { cpuMs, expectLinear, filled } from "../../fixtures/linear.ts";
import { attacksOn, patternsOf } from "../../fixtures/patterns.ts";

const SEED = 20_260_601;
/** Lengths at which every attack is tried; only one that is slow there is measured up to 200,000 characters. */
const GLANCES = [1_000, 12_000];
/** Of longer pieces there are fewer in a text, so it takes a longer one to tell. */
const LONG_GLANCES = [...GLANCES, 60_000];
const GLANCE_MS = 15;
/** Attacks tried on one pattern, spread evenly over all there are. */
const MAX_ATTACKS = 900;

/** Patterns that never see a longer text than this: what hands it to them cuts it. */
const CUT_BEFORE: Readonly<Record<string, number>> = {
  "packages/gateway/src/lib/file-type.ts": 4096,
  "packages/gateway/src/lib/hide-secrets.ts": 4000,
  "packages/gateway/src/runtimes/agent-cli/safe-sentence.ts": 4000,
};

const patterns = await patternsOf("packages");

describe("regular expressions of the product", () => {
  it("are found", () => {
    expect(patterns.length).toBeGreaterThan(150);
  });

  it.each(patterns.map((pattern) => [pattern.where, pattern] as const))(
    "%s takes time in proportion to the text [FUZZ-1]",
    async (where, { file, regex }) => {
      const longest = CUT_BEFORE[file] ?? Number.POSITIVE_INFINITY;
      // As it is used: with the flag `g` on every match of the text, else on the first.
      const task = (text: string) => {
        const seen = text.slice(0, longest);
        return regex.global ? seen.replace(regex, "") : regex.test(seen);
      };
      const attacks = [...attacksOn(regex, SEED)];
      const every = Math.max(1, Math.ceil(attacks.length / MAX_ATTACKS));
      for (const [head, piece, tail] of attacks.filter((_, index) => index % every === 0)) {
        const slow = async (size: number) => {
          const text = filled(size, piece, head, tail);
          return (await cpuMs(() => task(text))) > GLANCE_MS;
        };
        const sizes = piece.length > 1 ? LONG_GLANCES : GLANCES;
        let suspect = false;
        for (const size of sizes) suspect ||= await slow(size);
        if (!suspect) continue;
        const what = `${where} ${regex} with ${JSON.stringify([head, piece, tail])}`;
        await expectLinear(task, (size) => filled(size, piece, head, tail), what);
      }
    },
    60_000,
  );
});
