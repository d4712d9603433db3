import { isAbsolute } from "node:path";
import { AGENT_ID, model, runtimeConfig } from "@agent-gateway/contract";
import * as z from "zod";
import { agentFeatures, featureSections, unread, zone } from "./schema-features.ts";
import { storeSection } from "./schema-store.ts";

export const CONFIG_VERSION = "2.0.0";

/** Marks a setting that is read only at start. */
const RESTART = { restart: true };

/** Rules without defaults, because an agent's override must contain only what its entry sets. */
const historyRules = {
  retentionDays: z
    .number()
    .positive()
    .nullable()
    .describe("Days after which the daily clean-up deletes messages; null keeps them forever."),
  maxHistoryMessages: z
    .number()
    .int()
    .min(0)
    .max(100_000)
    .describe("Messages of history given to a new agent process; 0 gives none."),
  cleanupHour: z.number().int().min(0).max(23).describe("Hour of the daily clean-up, 0-23."),
};
const cleanupTimezone = zone("Time zone of `cleanupHour`; `gateway.timezone` when unset or invalid.");
const sessionRules = {
  idleTimeoutMinutes: z
    .number()
    .positive()
    .max(525_600)
    .describe("Minutes without messages or output after which a session's process is stopped."),
  maxConcurrent: z.number().int().min(1).max(10_000).describe("Maximum number of live sessions per agent."),
  warmSpares: z.number().int().min(0).max(20).describe("Processes per agent kept ready for new sessions."),
};

export const sessionSection = z
  .looseObject({
    idleTimeoutMinutes: sessionRules.idleTimeoutMinutes.default(30),
    maxConcurrent: sessionRules.maxConcurrent.default(20),
    warmSpares: sessionRules.warmSpares.default(0),
  })
  .prefault({});

export const apiKey = z
  .looseObject({
    id: z
      .string()
      .regex(/^(?![0-9a-f]{12}$)[a-z0-9][a-z0-9_-]{0,31}$/, {
        error: "must be a-z 0-9 _ -, and not 12 hex digits",
      })
      .optional()
      .describe(
        "Name of the key where its usage is shown; the first 12 hex digits of its SHA-256 when unset.",
      ),
    key: z.string().min(1).optional().describe("The key, usually as a variable."),
    keyHash: z
      .string()
      .regex(/^sha256:[0-9a-f]{64}$/i, { error: "must be sha256:<64 hex digits>" })
      .optional()
      .describe("Instead of `key`: `sha256:` followed by the key's SHA-256 in hex."),
    description: z.string().optional().describe("Note for people."),
    agents: z
      .union([z.literal("*"), z.array(z.string())])
      .optional()
      .describe(
        'Agent ids, or `"*"` for all. An admin key reaches all agents: use `"*"` or leave this out; a list disables the key. Any other key without it reaches none.',
      ),
    write: z.boolean().default(false).describe("Write level."),
    admin: z.boolean().default(false).describe("Admin level; implies write."),
  })
  .refine((entry) => (entry.key === undefined) !== (entry.keyHash === undefined), {
    error: "needs exactly one of key and keyHash",
  });

const apiSection = z
  .looseObject({
    keys: z.array(apiKey).default([]).describe("API keys."),
    rateLimit: z
      .union([
        z.literal(false),
        z.looseObject({
          perSecond: z.number().positive().default(100).describe("Requests per second per key."),
          burst: z.number().positive().default(200).describe("Burst of requests per key."),
        }),
      ])
      .default({ perSecond: 100, burst: 200 })
      .describe("Request limit per key; false turns it off."),
    uploadRateLimit: z
      .union([
        z.literal(false),
        z.looseObject({
          perSecond: z.number().positive().default(10).describe("Uploads per second per key."),
          burst: z.number().positive().default(20).describe("Burst of uploads per key."),
        }),
      ])
      .default({ perSecond: 10, burst: 20 })
      .describe("Upload limit per key; false turns it off."),
    maxStreams: z
      .number()
      .int()
      .positive()
      .default(256)
      .describe("Maximum number of event streams that one key may have open."),
  })
  .prefault({});

const logsSection = z
  .looseObject({
    level: z
      .enum(["debug", "info", "warn", "error"])
      .default("info")
      .describe("Minimum level written to file and stdout."),
    maxFileBytes: z
      .number()
      .int()
      .positive()
      .default(16_777_216)
      .describe("Maximum size of a log file; it is rotated before it gets larger."),
    maxFiles: z.number().int().min(0).default(3).describe("Rotated files kept per log; 0 keeps none."),
    retentionDays: z.number().min(0).default(14).describe("Days to keep logs; 0 keeps them forever."),
  })
  .prefault({});

const watchdogSection = z
  .looseObject({
    exitSeconds: z
      .number()
      .int()
      .min(0)
      .max(86_400)
      .default(60)
      .describe(
        "How long the gateway may be blocked before it exits with code 70, so that a supervisor can restart it; 0 turns this off.",
      ),
  })
  .prefault({});

const turnsSection = z
  .looseObject({
    hardCapMs: z
      .number()
      .int()
      .positive()
      .default(600_000)
      .describe("Time after the soft timeout at which a turn is interrupted."),
    retainMs: z
      .number()
      .int()
      .min(0)
      .default(120_000)
      .describe("How long the events of a finished turn stay readable."),
    injectionMs: z.number().int().positive().default(60_000).describe("Time limit of an injection's stream."),
    keepaliveMs: z
      .number()
      .int()
      .positive()
      .default(15_000)
      .describe("Interval between keep-alive comments on a stream."),
  })
  .prefault({});

/** The gateway's own part of `config.json`. */
export const gatewaySection = z.looseObject({
  port: z
    .number()
    .int()
    .min(0)
    .max(65_535)
    .default(10_850)
    .describe("Port for HTTP and WebSocket; 0 picks a free one. `PORT` in the environment takes precedence.")
    .meta(RESTART),
  bind: z
    .string()
    .min(1)
    .default("127.0.0.1")
    .describe(
      "Address to listen on; `0.0.0.0` means all. `GATEWAY_BIND` in the environment takes precedence.",
    )
    .meta(RESTART),
  store: storeSection,
  allowedHosts: z
    .array(z.string())
    .default([])
    .describe("Additional host names accepted in the `Host` header."),
  maxConnections: z
    .number()
    .int()
    .positive()
    .default(1024)
    .describe("Maximum number of open connections; one remote address may use half of them."),
  stalledReaderMs: z
    .number()
    .int()
    .positive()
    .default(60_000)
    .describe("Time after which a client that has stopped reading its reply is disconnected."),
  minFreeBytes: z
    .number()
    .int()
    .min(0)
    .default(1_073_741_824)
    .describe("Free disk space below which nothing new is accepted; 0 turns the check off."),
  timezone: zone("Default for every time zone below; `UTC` when unset or invalid."),
  publicUrl: z
    .string()
    .optional()
    .describe("The gateway's public URL; must end in `/gateway`. Plain http is allowed only for local hosts.")
    .meta(RESTART),
  oauthReturnUrl: z
    .string()
    .optional()
    .describe(
      "Where the browser goes when the sign-in to a connector has ended; `connector_oauth_error` tells what went wrong. Unset, it sees a plain page of the gateway.",
    )
    .meta(RESTART),
  headless: z
    .boolean()
    .default(true)
    .describe("False runs the agent CLI in a terminal that people can watch and type into; see TERMINAL.md."),
  api: apiSection,
  logs: logsSection,
  history: z
    .looseObject({
      retentionDays: historyRules.retentionDays.default(null),
      maxHistoryMessages: historyRules.maxHistoryMessages.default(50),
      cleanupHour: historyRules.cleanupHour.default(3),
      cleanupTimezone,
    })
    .prefault({}),
  turns: turnsSection,
  watchdog: watchdogSection,
  cluster: z
    .looseObject({
      leaseMs: z
        .number()
        .int()
        .min(5_000)
        .max(120_000)
        .default(15_000)
        .describe(
          "Time after which the agents of a gateway that has fallen silent are taken by another on the same Postgres store.",
        ),
    })
    .prefault({}),
  media: z
    .looseObject({
      maxUploadBytes: z.number().int().positive().default(20_971_520).describe("Maximum size of an upload."),
      quotaBytes: z
        .number()
        .int()
        .positive()
        .default(5_368_709_120)
        .describe("Maximum size of one agent's media folder."),
    })
    .prefault({}),
  models: z.array(model()).default([]).describe("Models to offer while no live catalogue is available."),
  orchestration: z
    .looseObject({ enabled: z.boolean().default(false).describe(unread("Runs tasks of agents in workers.")) })
    .prefault({}),
  ...featureSections,
});

export const agentEntry = z.looseObject({
  id: z
    .string()
    .regex(AGENT_ID, { error: "must be a-z, then up to 31 of a-z 0-9 _ -" })
    .describe("Name in URLs and on disk."),
  name: z.string().optional().describe("Display name; the id when unset."),
  description: z.string().default("").describe("What the agent does."),
  workspace: z
    .string()
    .min(1)
    .optional()
    .describe("Working directory; `agents/<id>/workspace` in the home directory when unset."),
  model: z.string().min(1).optional().describe("Model id; when unset, the runtime chooses."),
  instructions: z
    .string()
    .refine((path) => isAbsolute(path), { error: "must be an absolute path" })
    .optional()
    .describe(
      "File of standing instructions to use instead of the workspace's `AGENTS.md`; several agents can share one.",
    ),
  runtime: runtimeConfig().prefault({}).describe("How the agent runs."),
  env: z.record(z.string(), z.string()).default({}).describe("Variables for the agent's processes."),
  allowTools: z
    .union([z.boolean(), z.array(z.string())])
    .default(true)
    .describe("Tools the agent program may use: all, none, or a list."),
  history: z
    .looseObject(historyRules)
    .partial()
    .extend({ cleanupTimezone })
    .default({})
    .describe("Overrides of `gateway.history`."),
  session: z.looseObject(sessionRules).partial().default({}).describe("Overrides of `session`."),
  orchestration: z
    .looseObject({ enabled: z.boolean().default(false).describe(unread("Lets this agent start tasks.")) })
    .prefault({}),
  ...agentFeatures,
});

/** The whole file; used to find unknown keys and to write the reference, not for loading (parts load separately). */
export const configFile = z.looseObject({
  configVersion: z
    .string()
    .optional()
    .describe("Version of the file format; the gateway migrates older files."),
  gateway: gatewaySection.prefault({}),
  session: sessionSection,
  agents: z.array(agentEntry).default([]).describe("The agents."),
});

/** `gateway` with every time zone resolved. */
export type GatewaySection = Omit<
  Known<z.output<typeof gatewaySection>>,
  "timezone" | "history" | "spend"
> & {
  timezone: string;
  history: HistorySection;
  spend: SpendSection;
};
type SpendSection = Omit<Known<z.output<typeof gatewaySection>["spend"]>, "timezone"> & { timezone: string };
type HistorySection = Omit<Known<z.output<typeof gatewaySection>["history"]>, "cleanupTimezone"> & {
  cleanupTimezone: string;
};
export type SessionSection = z.output<typeof sessionSection>;
export type ApiKeyEntry = z.output<typeof apiKey>;
export type LogsSection = GatewaySection["logs"];
/** The declared keys of a loose object, without its index signature (which would swallow them in `Omit`). */
type Known<T> = { [K in keyof T as string extends K ? never : K]: T[K] };
type AgentEntry = Known<z.output<typeof agentEntry>>;

/** An agent as the rest of the gateway sees it: defaults filled in, overrides merged, variables resolved. */
export interface AgentConfig extends Omit<AgentEntry, "name" | "workspace" | "history" | "session"> {
  name: string;
  /** Absolute. */
  workspace: string;
  history: HistorySection;
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
