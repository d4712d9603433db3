import { expect, it } from "vitest";
import { createPaths } from "../../../packages/gateway/src/config/index.ts";
import { loadConfig } from "../../../packages/gateway/src/config/load.ts";

const load = (raw: Record<string, unknown>) =>
  loadConfig(raw, {
    paths: createPaths({ GATEWAY_HOME: "/srv/gw" }),
    env: {},
    homeEnv: {},
    agentEnv: new Map(),
  });

const HISTORY = { retentionDays: null, maxHistoryMessages: 50, cleanupHour: 3, cleanupTimezone: "UTC" };
const SESSION = { idleTimeoutMinutes: 30, maxConcurrent: 20, warmSpares: 0 };

it("an empty file means every default of the reference", () => {
  expect(load({})).toMatchObject({ problems: [], skipped: new Map(), secrets: new Set() });
  expect(load({}).config).toEqual({
    configVersion: "2.0.0",
    gateway: {
      port: 10_850,
      bind: "127.0.0.1",
      store: { driver: "sqlite", schema: "agent_gateway", poolSize: 10, ssl: "prefer" },
      allowedHosts: [],
      maxConnections: 1024,
      stalledReaderMs: 60_000,
      minFreeBytes: 1_073_741_824,
      timezone: "UTC",
      headless: true,
      api: {
        keys: [],
        rateLimit: { perSecond: 100, burst: 200 },
        uploadRateLimit: { perSecond: 10, burst: 20 },
        maxStreams: 256,
      },
      logs: { level: "info", maxFileBytes: 16_777_216, maxFiles: 3, retentionDays: 14 },
      history: HISTORY,
      turns: { hardCapMs: 600_000, retainMs: 120_000, injectionMs: 60_000, keepaliveMs: 15_000 },
      watchdog: { exitSeconds: 60 },
      cluster: { leaseMs: 15_000 },
      media: { maxUploadBytes: 20_971_520, quotaBytes: 5_368_709_120 },
      models: [],
      orchestration: { enabled: false },
      packages: { gateway: "agent-gateway", agentCli: "@anthropic-ai/claude-code" },
      crons: { commands: true },
      customConnectors: {},
      connectorsDefaultEnabled: true,
      spend: { currency: "USD", prices: {}, timezone: "UTC" },
      selfHealing: {
        enabled: true,
        autoRecover: false,
        stages: ["not_ready", "no_output", "dialog", "busy_screen", "exited"],
        maxPerTurn: 3,
        cooldownSeconds: 30,
        quietSeconds: 180,
        readySeconds: 60,
      },
      appBackup: { cleanupTimezone: "UTC" },
      skillLearning: { pruneTimezone: "UTC" },
      dreaming: { dreamTimezone: "UTC" },
      knowledge: { reflection: { timezone: "UTC" } },
      appHousekeeping: { buildCachePrune: true, buildCacheMaxAgeHours: 168, danglingImagePrune: true },
    },
    session: SESSION,
    agents: [],
  });
});

it("a part of a section leaves the defaults of the rest", () => {
  const { config } = load({ gateway: { api: { rateLimit: { burst: 1 }, uploadRateLimit: { burst: 2 } } } });
  expect(config?.gateway.api).toMatchObject({
    rateLimit: { perSecond: 100, burst: 1 },
    uploadRateLimit: { perSecond: 10, burst: 2 },
  });
});

it("an agent with nothing but its channels has every default of an agent and of each channel", () => {
  const blocks = { botchat: {}, guildchat: {}, cloudchat: {}, sigchat: {}, teamchat: {} };
  const { config, problems } = load({
    agents: [{ id: "a", devicechat: { accounts: [{ id: "x" }] }, ...blocks }],
  });
  const common = { enabled: true, coalesceMs: 0, progressMs: 15_000 };
  const manners = { sendReadReceipts: true, reactionLevel: "ack" };
  const lists = { dmAllowlist: [], groupAllowlist: [] };
  expect(problems).toEqual([]);
  expect(config?.agents).toEqual([
    {
      id: "a",
      name: "a",
      description: "",
      workspace: "/srv/gw/agents/a/workspace",
      runtime: { type: "auto" },
      env: {},
      allowTools: true,
      cronTools: true,
      orchestration: { enabled: false },
      history: HISTORY,
      session: SESSION,
      botchat: { ...common, ...lists, mode: "polling" },
      guildchat: { ...common, ...lists },
      devicechat: { ...common, accounts: [{ id: "x", label: null, ...lists, ...manners }] },
      cloudchat: {
        ...common,
        ...manners,
        dmAllowlist: [],
        templatesEnabled: false,
        templateLanguage: "en",
      },
      sigchat: { ...common, ...lists },
      teamchat: { ...common, ...lists },
    },
  ]);
  expect(load({ agents: [{ id: "b", devicechat: {} }] }).config?.agents[0]?.devicechat).toEqual({
    ...common,
    accounts: [],
  });
});
