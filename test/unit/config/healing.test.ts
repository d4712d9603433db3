import { expect, it } from "vitest";
import { createPaths } from "../../../packages/gateway/src/config/index.ts";
import { loadConfig } from "../../../packages/gateway/src/config/load.ts";

const paths = createPaths({ GATEWAY_HOME: "/srv/gw" });
const load = (selfHealing: unknown) => {
  const raw = { gateway: { selfHealing } };
  const { config, problems } = loadConfig(raw, { paths, env: {}, homeEnv: {}, agentEnv: new Map() });
  return { settings: config?.gateway.selfHealing, problems };
};
const DEFAULTS = {
  enabled: true,
  autoRecover: false,
  stages: ["not_ready", "no_output", "dialog", "busy_screen", "exited"],
  maxPerTurn: 3,
  cooldownSeconds: 30,
  quietSeconds: 180,
  readySeconds: 60,
};

it("settings of the watchdog that are too small, and unknown stages, fall back to their defaults with a warning [HEAL-11]", () => {
  expect(load(undefined).settings).toEqual(DEFAULTS);
  const least = {
    ...DEFAULTS,
    ...{ stages: ["exited"], maxPerTurn: 0, cooldownSeconds: 0, quietSeconds: 1, readySeconds: 1 },
  };
  expect(load(least)).toEqual({ settings: least, problems: [] });

  const wrong = {
    ...{
      stages: ["exited", "bored"],
      maxPerTurn: -1,
      cooldownSeconds: -1,
      quietSeconds: 0,
      readySeconds: 0.5,
    },
  };
  for (const bad of [wrong, { ...wrong, stages: "exited", maxPerTurn: 1.5, quietSeconds: "3" }]) {
    const { settings, problems } = load(bad);
    expect(settings).toEqual(DEFAULTS);
    expect(problems.map(({ level, path }) => [level, path])).toEqual(
      Object.keys(wrong).map((key) => ["warning", `gateway.selfHealing.${key}`]),
    );
  }
  expect(load({ quietSeconds: 0 }).problems[0]?.message).toBe(
    "must be a number of at least 1; the default is used",
  );
});
