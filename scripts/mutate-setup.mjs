// Run in each thread before the tests: the tables of fast-check take a second to build, which no test should pay for.
import fc from "fast-check";

globalThis.tablesBuilt ??= fc.sample(
  fc.tuple(fc.string({ unit: "binary" }), fc.string({ unit: "grapheme" })),
  1,
);
