import { defineConfig } from "vitest/config";

// For `npm run mutate`: unit tests alone, of the room that is mutated, without building the gateway first.
export default defineConfig({
  test: {
    include: process.env.MUTATE_TESTS?.split(",") ?? [],
    testTimeout: 20_000,
    maxWorkers: 1,
    pool: "forks",
  },
});
