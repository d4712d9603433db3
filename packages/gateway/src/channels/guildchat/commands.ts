import { createHash } from "node:crypto";
import type { AdapterContext } from "../types.ts";
import type { Interaction } from "./parse.ts";
import type { Position } from "./position.ts";
import type { Api } from "./rest.ts";

const CALL_MS = 10_000;
/** https://docs.discord.com/developers/interactions/application-commands#application-command-object */
const MAX_DESCRIPTION = 100;
const SLASH_COMMAND = 1;
const TEXT_OPTION = 3;
/** https://docs.discord.com/developers/interactions/receiving-and-responding#interaction-response-object */
const MESSAGE = 4;
const NO_CHANGE = 6;
const SEEN_BY_SENDER_ALONE = 64;

/** Registers the slash commands when they are not those that are registered. True when the position changed. */
export async function registerCommands(
  api: Api,
  position: Position,
  commands: AdapterContext["commands"],
  signal: AbortSignal,
): Promise<boolean> {
  if (!position.bot) return false;
  const body = commands.map(({ name, description }) => ({
    type: SLASH_COMMAND,
    name: name.replace(/^\//, ""),
    description: description.slice(0, MAX_DESCRIPTION),
    options: [
      { type: TEXT_OPTION, name: "input", description: "What comes after the command", required: false },
    ],
  }));
  const hash = createHash("sha256").update(JSON.stringify(body)).digest("base64url");
  if (position.commands === hash) return false;
  const result = await api.call("PUT", `/applications/${position.bot.application}/commands`, {
    body,
    signal,
    ms: CALL_MS,
  });
  if (result.kind !== "done") return false;
  position.commands = hash;
  return true;
}

/** Tells Discord that an interaction was taken, which it wants within 3 s; the reply comes as a message. Best effort. */
export async function acknowledge(api: Api, interaction: Interaction, signal: AbortSignal): Promise<void> {
  const { id, token, kind } = interaction;
  await api.call("POST", `/interactions/${id}/${encodeURIComponent(token)}/callback`, {
    body:
      kind === "button"
        ? { type: NO_CHANGE }
        : { type: MESSAGE, data: { content: "…", flags: SEEN_BY_SENDER_ALONE } },
    signal,
    ms: CALL_MS,
  });
}
