import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    globalSetup: ["test/global-setup.ts"],
    include: ["test/**/*.test.ts"],
    testTimeout: 30_000,
    hookTimeout: 120_000,
    // Three files keep two cores busy; more at once only slow each other's servers down.
    maxWorkers: 3,
    pool: "forks",
    // A shared machine can stand still for longer than a browser test waits; what fails twice has failed.
    retry: process.env.CI ? 1 : 0,
    reporters: ["default"],
  },
});
