import * as z from "zod";
import { lazy } from "../lazy.ts";
import { channelFields } from "./agent-channels.ts";
import { agentId, label } from "./common.ts";
import { agentConnectors, connectorSwitches } from "./connectors.ts";
import { deviceAccount } from "./devicechat.ts";

const MAX_GREETING_BYTES = 65_536;

/** A text that becomes an argument of an agent program, which must not take it for one of its flags. */
const argument = (max: number) =>
  z
    .string()
    .max(max)
    .refine((text) => !text.trimStart().startsWith("-"), { error: "must not begin with -" });
const modelId = lazy(() => argument(200).min(1));

export const runtimeConfig = lazy(() =>
  z.looseObject({
    type: z
      .enum(["auto", "agent-cli", "acp", "builtin", "starter"])
      .default("auto")
      .describe("What runs the agent; `auto` uses the first one available."),
    command: z
      .array(z.string())
      .min(1)
      .optional()
      .describe("Program and first arguments for `agent-cli` and `acp`."),
    args: z.array(z.string()).optional().describe("Arguments to append."),
    provider: z
      .enum(["anthropic", "openai", "openai-compatible"])
      .optional()
      .describe("Model provider of `builtin`."),
    baseUrl: z.string().optional().describe("URL of the provider's API."),
    apiKey: z.string().optional().describe("The provider's key; never shown."),
    model: argument(200).optional().describe("Model id for `builtin`."),
    maxRetries: z
      .number()
      .int()
      .min(0)
      .max(20)
      .optional()
      .describe("Retries of a failed model call, if the program supports a limit; 3 when unset."),
    silentSeconds: z
      .number()
      .min(0)
      .max(86_400)
      .optional()
      .describe(
        "Ends a turn whose model has been silent for this long, not counting running tools; 300 when unset, 0 turns it off.",
      ),
  }),
);
export const runtimeStatus = lazy(() =>
  z.object({
    type: z.string().describe("What runs the agent now; for `auto`, the one that was chosen."),
    program: z.string().nullable().describe("File name of the agent program, without its folder."),
    version: z.string().nullable().describe("Version that the program reports."),
    login: z
      .enum(["ok", "missing", "unknown", "not-needed"])
      .describe("Whether the program is logged in with its provider."),
    problem: z
      .string()
      .nullable()
      .describe("Why the agent cannot start, and what to do about it; null if it can."),
    warnings: z.array(z.string()).describe("Problems that do not keep the agent from running."),
    lastError: z
      .object({ message: z.string(), at: z.number() })
      .nullable()
      .describe("The latest failure of a turn or start; null once one succeeds."),
  }),
);
export type RuntimeStatus = z.output<ReturnType<typeof runtimeStatus>>;
export const agent = lazy(() =>
  z.object({
    id: z.string(),
    name: z.string(),
    description: z.string(),
    model: z.string().nullable(),
    runtime: z.looseObject({ type: z.string() }),
    runtime_status: runtimeStatus(),
    allow_tools: z.union([z.boolean(), z.array(z.string())]),
    orchestration_enabled: z.boolean(),
    connectors: agentConnectors(),
    channels: z.record(z.string(), z.looseObject({ enabled: z.boolean(), connected: z.boolean() })),
    devicechat_accounts: z.array(deviceAccount()),
  }),
);
const allowTools = lazy(() => z.union([z.boolean(), z.array(argument(200)).max(500)]));
export const createAgent = lazy(() =>
  z.object({
    id: agentId(),
    name: label(200).optional(),
    description: z.string().max(2000).optional(),
    model: modelId().optional(),
    runtime: runtimeConfig().optional(),
  }),
);
export const updateAgent = lazy(() =>
  z.strictObject({
    name: label(200).optional(),
    description: z.string().max(2000).optional(),
    model: modelId().nullable().optional(),
    allow_tools: allowTools().optional(),
    orchestration_enabled: z.boolean().optional(),
    runtime: runtimeConfig()
      .optional()
      .describe(
        "Admin. What is not named stays as it is, unless the type or the provider becomes another one.",
      ),
    connectors: connectorSwitches()
      .optional()
      .describe("Admin. Connectors that this agent may use or not; null leaves it to the default."),
    ...channelFields(),
  }),
);
export const greetingText = lazy(() =>
  z.object({
    text: z
      .string()
      .refine((text) => new TextEncoder().encode(text).length <= MAX_GREETING_BYTES, {
        error: "must be at most 64 KiB",
      })
      .describe("What the agent is told once, so that it speaks first; empty for none."),
  }),
);
export const agentReply = lazy(() => z.object({ agent: agent() }));

export const model = lazy(() =>
  z.object({
    id: z.string().describe("The provider's id of the model."),
    name: z.string().describe("Display name."),
    alias: z.string().describe("Short name for `/model`."),
    contextWindow: z.number().describe("Size of the context, in tokens."),
    multiplier: z.number().describe("Cost relative to the base model."),
  }),
);
export type Model = z.output<ReturnType<typeof model>>;
export const setModel = lazy(() => z.object({ model: modelId() }));
