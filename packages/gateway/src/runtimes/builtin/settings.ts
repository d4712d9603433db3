import * as z from "zod";
import type { McpServer } from "../types.ts";
import { DEFAULT_MAX_RETRIES } from "../upstream.ts";
import type { Provider } from "./protocol.ts";

/** Used where neither the agent nor its runtime names a model. */
const DEFAULT_MODELS = { anthropic: "claude-sonnet-5", openai: "gpt-5.5" } as const;
const DEFAULT_CONTEXT_WINDOW = 200_000;

const strings = z.record(z.string(), z.string());
const mcpServer = z.union([
  z.object({ command: z.string().min(1), args: z.array(z.string()).optional(), env: strings.optional() }),
  z.object({ url: z.url(), type: z.enum(["http", "sse"]).optional(), headers: strings.optional() }),
]);

/** What an agent's `runtime` says about the builtin runtime; further keys are ignored. */
const builtinConfig = z.object({
  provider: z.enum(["anthropic", "openai", "openai-compatible"], {
    error: "must be anthropic, openai or openai-compatible",
  }),
  baseUrl: z.url({ protocol: /^https?$/, error: "must be an http or https URL" }).optional(),
  apiKey: z.string().min(1).optional(),
  model: z.string().min(1).optional(),
  contextWindow: z.number().int().positive().optional(),
  maxRetries: z.number().int().min(0).max(20).default(DEFAULT_MAX_RETRIES),
  maxSteps: z.number().int().min(1).max(1000).default(50),
  mcpServers: z.record(z.string(), mcpServer).default({}),
});

export interface BuiltinSettings {
  provider: Provider;
  baseUrl: string | undefined;
  apiKey: string | undefined;
  /** Default model of a session; undefined if there is none to choose. */
  model: string | undefined;
  contextWindow: number;
  maxRetries: number;
  maxSteps: number;
  mcpServers: Readonly<Record<string, McpServer>>;
}

/**
 * Reads an agent's `runtime` section and fills it from the environment (the agent's over the gateway's): keys from
 * `ANTHROPIC_API_KEY` and `OPENAI_API_KEY`, addresses from `ANTHROPIC_BASE_URL` and `OPENAI_BASE_URL`.
 * @throws Error with a user-facing message that names the wrong key or the missing variable.
 */
export function builtinSettings(
  runtime: Readonly<Record<string, unknown>>,
  env: Readonly<Record<string, string | undefined>>,
): BuiltinSettings {
  const parsed = builtinConfig.safeParse(runtime);
  if (!parsed.success) {
    const issue = parsed.error.issues[0]!;
    throw new Error(`The agent's runtime.${issue.path.join(".")} is wrong: ${issue.message}.`);
  }
  const { provider, ...config } = parsed.data;
  const family = provider === "anthropic" ? "ANTHROPIC" : "OPENAI";
  const own = provider !== "openai-compatible";
  const apiKey = config.apiKey ?? (own ? env[`${family}_API_KEY`] || undefined : undefined);
  const baseUrl = config.baseUrl ?? (own ? env[`${family}_BASE_URL`] || undefined : undefined);
  if (own && apiKey === undefined) {
    throw new Error(
      `The ${provider} provider needs a key: set runtime.apiKey of the agent or ${family}_API_KEY.`,
    );
  }
  if (!own && baseUrl === undefined) {
    throw new Error("The openai-compatible provider needs runtime.baseUrl of the agent.");
  }
  return {
    ...config,
    provider,
    apiKey,
    baseUrl: baseUrl === undefined ? undefined : withVersion(baseUrl, provider),
    model: config.model ?? (provider === "openai-compatible" ? undefined : DEFAULT_MODELS[provider]),
    contextWindow: config.contextWindow ?? DEFAULT_CONTEXT_WINDOW,
  };
}

/** Anthropic addresses are customarily given without their `/v1`, those of OpenAI servers with it or as a bare host. */
function withVersion(address: string, provider: Provider): string {
  const trimmed = address.replace(/(?<!\/)\/+$/, "");
  const { pathname } = new URL(trimmed);
  const versioned = provider === "anthropic" ? /\/v\d+$/.test(pathname) : pathname !== "/";
  return versioned ? trimmed : `${trimmed}/v1`;
}
