import * as z from "zod";
import { channelBlocks } from "./schema-channels.ts";
import { selfHealingSection } from "./schema-healing.ts";

/** Contents are validated by the feature that reads them. */
export const opaque = z.record(z.string(), z.unknown());

/** A time zone; validated where it is used, so that an unknown one falls back instead of failing. */
export const zone = (description: string) => z.string().optional().catch(undefined).describe(description);

/** Marks a setting that is validated but not used by any part of the gateway yet. */
export const unread = (description: string) => `${description} No effect yet.`;

const amount = () => z.number().min(0).max(1_000_000);
const price = z.looseObject({
  input: amount().describe("Input tokens."),
  output: amount().describe("Output tokens."),
  cacheRead: amount().optional().describe("Input that the provider's cache held; like `input` when unset."),
  cacheWrite: amount().optional().describe("Input that the provider's cache took; like `input` when unset."),
});

/** A name in npm's registry, and nothing that npm would take for anything else. */
const npmPackage = (name: string) =>
  z
    .string()
    .max(214)
    .regex(/^(?:@[a-z0-9][a-z0-9._-]*\/)?[a-z0-9][a-z0-9._-]*$/, {
      error: "must be the name of an npm package, without a version",
    })
    .default(name);

/** A service that makes images or videos. */
const generator = (what: string) =>
  z
    .looseObject({
      baseUrl: z
        .url({ protocol: /^https?$/, error: "must be an http(s) address" })
        .describe("Address of the API, for example `https://api.openai.com/v1`."),
      apiKey: z.string().min(1).optional().describe("Its key, usually as a variable."),
      model: z.string().min(1).describe("Model to use where neither the message nor the agent names one."),
    })
    .optional()
    .describe(what);

/** Sections of `gateway` that each belong to one feature. */
export const featureSections = {
  packages: z
    .looseObject({
      gateway: npmPackage("agent-gateway").describe("npm package of the gateway."),
      agentCli: npmPackage("@anthropic-ai/claude-code").describe("npm package of the agent CLI."),
    })
    .prefault({}),
  images: generator("Service of OpenAI's form that makes images, for the agents' tool `generate_image`."),
  videos: generator("Service of OpenAI's form that makes videos, for the agents' tool `generate_video`."),
  customConnectors: z
    .record(
      z.string().regex(/^[a-z0-9][a-z0-9_-]*$/, { error: "must be a slug" }),
      z.looseObject({
        label: z.string().optional().describe("Display name."),
        description: z.string().optional().describe("What it is good for."),
        config: opaque
          .optional()
          .describe(
            "MCP server entry: `command`, `args`, `env`, or `type` (`http` or `sse`), `url`, `headers`; `{placeholder}` tokens for secrets in `env`, `url` and `headers`.",
          ),
        secretNames: z.array(z.string()).optional().describe("Names of the placeholders."),
        credentialOwner: z
          .enum(["none", "static", "gateway", "external"])
          .optional()
          .describe("Who holds the credentials."),
        defaultEnabled: z.boolean().optional().describe("If false, each agent must opt in."),
      }),
    )
    .default({})
    .describe(
      "Your own connectors, by slug: MCP servers that agents can use. Their secrets are in `mcp-token.env` in the home directory, as `CUSTOM__<slug>__<placeholder>`.",
    ),
  connectorsDefaultEnabled: z
    .boolean()
    .default(true)
    .describe("Whether agents without their own entry may use a connected connector."),
  spend: z
    .looseObject({
      currency: z
        .string()
        .regex(/^[A-Z]{3}$/, { error: "must be three capital letters" })
        .default("USD")
        .describe(
          "Currency of all prices and costs. The built-in prices and what agent programs report are in USD.",
        ),
      timezone: zone(
        "Time zone of the days that usage is added up by; `gateway.timezone` when unset or invalid.",
      ),
      prices: z
        .record(z.string().min(1), price)
        .default({})
        .describe(
          "Price per million tokens, by model id or its beginning and `*`; of several that fit, the longest. Stands over the built-in prices.",
        ),
    })
    .prefault({}),
  crons: z
    .looseObject({
      commands: z
        .boolean()
        .default(true)
        .describe("Whether scheduled jobs may run commands; admin keys alone can make such jobs."),
    })
    .prefault({}),
  selfHealing: selfHealingSection,
  appBackup: z
    .looseObject({
      cleanupTimezone: zone(unread("Time zone of app backup clean-ups; `gateway.timezone` when unset.")),
    })
    .prefault({}),
  skillLearning: z
    .looseObject({
      pruneTimezone: zone(unread("Time zone of skill pruning; `gateway.timezone` when unset.")),
    })
    .prefault({}),
  dreaming: z
    .looseObject({ dreamTimezone: zone(unread("Time zone of dreaming; `gateway.timezone` when unset.")) })
    .prefault({}),
  knowledge: z
    .looseObject({
      reflection: z
        .looseObject({ timezone: zone(unread("Time zone of reflection; `gateway.timezone` when unset.")) })
        .prefault({}),
    })
    .prefault({}),
  appHousekeeping: z
    .looseObject({
      buildCachePrune: z.boolean().default(true).describe(unread("Prune the image build cache.")),
      buildCacheMaxAgeHours: z
        .number()
        .positive()
        .default(168)
        .describe(unread("Age above which build cache is pruned.")),
      danglingImagePrune: z.boolean().default(true).describe(unread("Prune unnamed images.")),
    })
    .prefault({}),
};

/** Blocks of an agent's entry that each belong to one feature. */
export const agentFeatures = {
  connectors: z
    .record(
      z.string(),
      z.looseObject({
        enabled: z.boolean().optional().describe("Whether this agent may use the connector."),
      }),
    )
    .optional()
    .describe("Connectors, by slug, that this agent may use or not, whatever their default."),
  cronTools: z.boolean().default(true).describe("Whether the agent has tools to schedule jobs of its own."),
  voice: opaque.optional().describe(unread("The agent's speech settings.")),
  ...channelBlocks,
};
