import {
  type createAgent,
  type ErrorDetail,
  GatewayError,
  type runtimeConfig,
  type updateAgent,
} from "@agent-gateway/contract";
import type * as z from "zod";
import { hasVariable } from "../config/index.ts";

export type CreateAgent = z.output<ReturnType<typeof createAgent>>;
export type UpdateAgent = z.output<ReturnType<typeof updateAgent>>;
export type RuntimeInput = z.output<ReturnType<typeof runtimeConfig>>;

/**
 * Refuses `${VAR}` in fields that can be read back: the configuration would insert the variable's value and so show
 * it to everyone with access to the agent.
 * @throws {GatewayError} `INVALID_REQUEST`.
 */
export function refuseVariables(
  input: Partial<Pick<UpdateAgent, "name" | "description" | "model" | "allow_tools">>,
): void {
  const details: ErrorDetail[] = [];
  const check = (path: string, text: unknown) => {
    if (typeof text !== "string" || !hasVariable(text)) return;
    details.push({ path, message: "must not refer to a variable" });
  };
  for (const [path, value] of Object.entries(input)) {
    if (!Array.isArray(value)) check(path, value);
    else for (const [index, text] of value.entries()) check(`${path}.${index}`, text);
  }
  if (details.length > 0) throw new GatewayError("INVALID_REQUEST", undefined, { details });
}

/**
 * The runtime's known keys.
 * @throws {GatewayError} `INVALID_REQUEST` when they do not fit together.
 */
export function checkRuntime(runtime: RuntimeInput): RuntimeInput {
  const { type, command, args, provider, baseUrl, apiKey, model } = runtime;
  const details: ErrorDetail[] = [];
  const refuse = (key: string, message: string) => details.push({ path: `runtime.${key}`, message });
  if (provider === "openai-compatible" && !baseUrl) refuse("baseUrl", "is required for this provider");
  if (baseUrl !== undefined && !hasVariable(baseUrl)) {
    const web = URL.canParse(baseUrl) && /^https?:$/.test(new URL(baseUrl).protocol);
    if (!web) refuse("baseUrl", "must be an http(s) URL");
  }
  if (apiKey !== undefined && /[\r\n]/.test(apiKey)) refuse("apiKey", "must be one line");
  for (const key of ["provider", "model", "baseUrl"] as const) {
    // These are shown by the API.
    const value = runtime[key];
    if (value !== undefined && hasVariable(value)) refuse(key, "must not refer to a variable");
  }
  if (details.length > 0) throw new GatewayError("INVALID_REQUEST", undefined, { details });
  const known = { type, command, args, provider, baseUrl, apiKey, model };
  return Object.fromEntries(Object.entries(known).filter(([, value]) => value !== undefined)) as RuntimeInput;
}
