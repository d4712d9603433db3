import * as z from "zod";
import { agentId } from "./common.ts";

export const runtimeConfig = z.looseObject({
  type: z.enum(["auto", "agent-cli", "acp", "builtin", "starter"]).default("auto"),
  command: z.array(z.string()).min(1).optional(),
  args: z.array(z.string()).optional(),
  provider: z.enum(["anthropic", "openai", "openai-compatible"]).optional(),
  baseUrl: z.string().optional(),
  apiKey: z.string().optional(),
  model: z.string().optional(),
});
export const agent = z.object({
  id: z.string(),
  name: z.string(),
  description: z.string(),
  model: z.string().nullable(),
  runtime: z.looseObject({ type: z.string() }),
  allow_tools: z.union([z.boolean(), z.array(z.string())]),
  orchestration_enabled: z.boolean(),
  channels: z.record(z.string(), z.looseObject({ enabled: z.boolean(), connected: z.boolean() })),
  devicechat_accounts: z.array(z.unknown()),
});
const allowTools = z.union([z.boolean(), z.array(z.string().max(200)).max(500)]);
const label = z.string().max(200);
export const createAgent = z.object({
  id: agentId,
  name: label.optional(),
  description: z.string().max(2000).optional(),
  model: z.string().min(1).max(200).optional(),
  runtime: runtimeConfig.optional(),
});
/** Fields of channels (`<channel>_*`) come with the channels. */
export const updateAgent = z.strictObject({
  name: label.optional(),
  description: z.string().max(2000).optional(),
  model: z.string().min(1).max(200).nullable().optional(),
  allow_tools: allowTools.optional(),
  orchestration_enabled: z.boolean().optional(),
});
export const agentReply = z.object({ agent });

export const model = z.object({
  id: z.string(),
  name: z.string(),
  alias: z.string(),
  contextWindow: z.number(),
  multiplier: z.number(),
});
export type Model = z.output<typeof model>;
export const setModel = z.object({ model: z.string().min(1).max(200) });
