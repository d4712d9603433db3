import { AGENT_ID, model, runtimeConfig } from "@agent-gateway/contract";
import * as z from "zod";

export const CONFIG_VERSION = "2.0.0";

const minutes = z.number().positive().max(525_600);
const historyKeys = z.looseObject({
  retentionDays: z.number().positive().nullable().default(null),
  maxHistoryMessages: z.number().int().min(0).max(1000).default(50),
  cleanupHour: z.number().int().min(0).max(23).default(3),
  cleanupTimezone: z.string().optional(),
});
const sessionKeys = z.looseObject({
  idleTimeoutMinutes: minutes.default(30),
  maxConcurrent: z.number().int().min(1).max(10_000).default(20),
  warmSpares: z.number().int().min(0).max(20).default(0),
});

export const apiKey = z
  .looseObject({
    key: z.string().min(1).optional(),
    keyHash: z
      .string()
      .regex(/^sha256:[0-9a-f]{64}$/i, { error: "must be sha256:<64 hex digits>" })
      .optional(),
    description: z.string().optional(),
    agents: z.union([z.literal("*"), z.array(z.string())]),
    write: z.boolean().default(false),
    admin: z.boolean().default(false),
  })
  .refine((entry) => (entry.key === undefined) !== (entry.keyHash === undefined), {
    error: "needs exactly one of key and keyHash",
  });

/** The gateway's own part of `config.json`. */
export const gatewaySection = z.looseObject({
  port: z.number().int().min(0).max(65_535).default(10_850),
  bind: z.string().min(1).default("127.0.0.1"),
  allowedHosts: z.array(z.string()).default([]),
  timezone: z.string().optional(),
  publicUrl: z.string().optional(),
  headless: z.boolean().default(true),
  api: z
    .looseObject({
      keys: z.array(apiKey).default([]),
      rateLimit: z
        .union([
          z.literal(false),
          z.looseObject({
            perSecond: z.number().positive().default(100),
            burst: z.number().positive().default(200),
          }),
        ])
        .default({ perSecond: 100, burst: 200 }),
    })
    .prefault({}),
  logs: z
    .looseObject({
      level: z.enum(["debug", "info", "warn", "error"]).default("info"),
      maxFileBytes: z.number().int().positive().default(16_777_216),
      maxFiles: z.number().int().min(0).default(3),
      retentionDays: z.number().min(0).default(14),
    })
    .prefault({}),
  history: historyKeys.prefault({}),
  turns: z
    .looseObject({
      hardCapMs: z.number().int().positive().default(600_000),
      retainMs: z.number().int().min(0).default(120_000),
      injectionMs: z.number().int().positive().default(60_000),
      keepaliveMs: z.number().int().positive().default(15_000),
    })
    .prefault({}),
  media: z.looseObject({ maxUploadBytes: z.number().int().positive().default(20_971_520) }).prefault({}),
  models: z.array(model).default([]),
  orchestration: z.looseObject({ enabled: z.boolean().default(false) }).prefault({}),
});

export const agentEntry = z.looseObject({
  id: z.string().regex(AGENT_ID, { error: "must be a-z, then up to 31 of a-z 0-9 _ -" }),
  name: z.string().optional(),
  description: z.string().default(""),
  workspace: z.string().min(1).optional(),
  model: z.string().min(1).optional(),
  runtime: runtimeConfig.prefault({}),
  env: z.record(z.string(), z.string()).default({}),
  allowTools: z.union([z.boolean(), z.array(z.string())]).default(true),
  history: historyKeys.partial().default({}),
  session: sessionKeys.partial().default({}),
});

export const sessionSection = sessionKeys.prefault({});
export type GatewaySection = z.output<typeof gatewaySection>;
export type SessionSection = z.output<typeof sessionSection>;
export type ApiKeyEntry = z.output<typeof apiKey>;
/** The declared keys of a loose object, without its index signature. */
type Known<T> = { [K in keyof T as string extends K ? never : K]: T[K] };
type AgentEntry = Known<z.output<typeof agentEntry>>;

/** An agent as the rest of the gateway sees it: defaults filled in, overrides merged, variables resolved. */
export interface AgentConfig extends Omit<AgentEntry, "name" | "workspace" | "history" | "session"> {
  name: string;
  /** Absolute. */
  workspace: string;
  history: GatewaySection["history"];
  session: SessionSection;
}

/** The running configuration: immutable, replaced as a whole on reload. */
export interface Config {
  configVersion: string;
  gateway: GatewaySection;
  session: SessionSection;
  /** Only the agents that could be loaded. */
  agents: readonly AgentConfig[];
}
