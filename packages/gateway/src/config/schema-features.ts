import * as z from "zod";
import { channelBlocks } from "./schema-channels.ts";

/** Anything inside is the business of the feature that reads it. */
export const opaque = z.record(z.string(), z.unknown());

/** A time zone; whether it exists is decided where it is used, so that a wrong one falls through, never fails. */
export const zone = (description: string) => z.string().optional().catch(undefined).describe(description);

/** Marks a key that is checked, and that no part of the gateway reads yet. */
export const unread = (description: string) => `${description} Read, without effect yet.`;

/** Sections of `gateway` that belong to one feature each. */
export const featureSections = {
  customConnectors: z
    .record(
      z.string().regex(/^[a-z0-9][a-z0-9_-]*$/, { error: "must be a slug" }),
      z.looseObject({
        label: z.string().optional().describe("Name for people."),
        config: opaque.optional().describe("Raw MCP server entry with {placeholder} tokens for secrets."),
        secretNames: z.array(z.string()).optional().describe("Names of the placeholders."),
        credentialOwner: z
          .enum(["none", "static", "gateway", "external"])
          .optional()
          .describe("Who keeps the credentials."),
        defaultEnabled: z.boolean().optional().describe("False asks for an opt-in of each agent."),
      }),
    )
    .default({})
    .describe(unread("Connectors of your own, by slug.")),
  connectorsDefaultEnabled: z
    .boolean()
    .default(true)
    .describe(unread("Whether an agent without an entry of its own may use a connected connector.")),
  selfHealing: z
    .looseObject({
      autoRecover: z
        .boolean()
        .default(false)
        .describe(unread("Lets the watchdog recover a stalled turn; off, it only reports.")),
    })
    .prefault({}),
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
        .describe(unread("Age of build cache to prune.")),
      danglingImagePrune: z.boolean().default(true).describe(unread("Prune images without a name.")),
    })
    .prefault({}),
};

/** Blocks of an agent's entry that belong to one feature each. */
export const agentFeatures = {
  connectors: opaque.optional().describe(unread("Connectors by id: `{enabled}`.")),
  voice: opaque.optional().describe(unread("Speech settings of the agent.")),
  ...channelBlocks,
};
