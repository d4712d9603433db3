import { dirname } from "node:path";
import { GatewayError } from "@agent-gateway/contract";
import { agentEnvFile, type Env, type Paths, readDotenv, writeDotenv } from "../config/index.ts";
import { makeFolder } from "../lib/guarded/index.ts";
import type { ChannelPatch } from "./channel-patch.ts";

type Raw = Record<string, unknown>;

/** A value that is nothing but a reference to a variable. */
export const REFERENCE = /^\$\{([A-Za-z_][A-Za-z0-9_]*)\}$/;

/** `MY_AGENT_BOTCHAT_BOT_TOKEN`: parts in upper case, between underscores. */
export const variableName = (...parts: readonly string[]): string =>
  parts
    .map((part) => part.replace(/([a-z0-9])([A-Z])/g, "$1_$2").replaceAll("-", "_"))
    .join("_")
    .toUpperCase();

/** One secret of a patch: the variable for it, and its new value; null removes it. */
interface Secret {
  key: string;
  variable: string;
  value: string | null;
}

/** The variable that only this key of the entry refers to, if there is one. */
function ownVariable(entry: Raw, channel: string, key: string): string | undefined {
  const block = entry[channel] as Raw | undefined;
  const name = REFERENCE.exec(typeof block?.[key] === "string" ? block[key] : "")?.[1];
  if (name === undefined) return undefined;
  return JSON.stringify(entry).split(`\${${name}}`).length === 2 ? name : undefined;
}

function plan(entry: Raw, agentId: string, { channel, secrets }: ChannelPatch): Secret[] {
  return [...secrets].map(([key, value]) => ({
    key,
    value,
    variable: ownVariable(entry, channel, key) ?? variableName(agentId, channel, key),
  }));
}

/** Result of storing a patch's secrets. */
export interface StoredSecrets {
  /** What the file contains in place of each secret; null for removed ones. */
  references: Map<string, string | null>;
  /** Puts the old values back. */
  undo(): Promise<void>;
  /** Removes the variables that nothing refers to any more, once the file no longer names them. */
  finish(): Promise<void>;
}

/**
 * Puts secrets into the agent's own `.env`, before the configuration refers to them.
 * @throws {GatewayError} `CONFLICT` if the gateway's environment has a variable of that name, which would override it.
 */
export async function storeSecrets(
  { paths, env }: { paths: Paths; env: Env },
  agentId: string,
  entry: Raw,
  patch: ChannelPatch,
): Promise<StoredSecrets> {
  const file = agentEnvFile(paths, agentId);
  const secrets = plan(entry, agentId, patch);
  for (const { variable, value } of secrets) {
    const shell = env[variable];
    if (value === null || !shell || shell === value) continue;
    throw new GatewayError(
      "CONFLICT",
      `The variable ${variable} is set in the gateway's own environment, which wins over what is stored here. ` +
        "Remove it there and restart the gateway first.",
    );
  }
  const before = await readDotenv(file);
  const set = async (variable: string, value: string | null) => {
    await makeFolder(dirname(file));
    await writeDotenv(file, variable, value);
  };
  const undo = async () => {
    for (const { variable, value } of secrets) {
      if (value !== null) await set(variable, before[variable] ?? null);
    }
  };
  try {
    for (const { variable, value } of secrets) if (value !== null) await set(variable, value);
  } catch (cause) {
    await undo().catch(() => {});
    throw new GatewayError("INTERNAL", "Could not write the agent's .env.", { cause });
  }
  return {
    references: new Map(
      secrets.map(({ key, variable, value }) => [key, value === null ? null : `\${${variable}}`]),
    ),
    undo,
    async finish() {
      for (const { variable, value } of secrets) {
        if (value === null && before[variable] !== undefined) await set(variable, null);
      }
    },
  };
}
