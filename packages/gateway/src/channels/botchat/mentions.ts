import type { BotIdentity } from "./identity.ts";
import type { MessageEntity } from "./update.ts";

/** A text, told apart from whom it speaks to. */
export interface Addressed {
  /** Without the bot's own mentions. */
  text: string;
  mentioned: boolean;
  /** It is a command for another bot. */
  foreign: boolean;
}

/**
 * Reads a text's entities. Their offsets are UTF-16 code units, as those of JavaScript's strings.
 * `/command@thisbot` becomes `/command`.
 */
export function addressed(
  text: string,
  entities: readonly MessageEntity[] | undefined,
  bot: BotIdentity,
): Addressed {
  const own = bot.username === undefined ? undefined : `@${bot.username.toLowerCase()}`;
  if (!entities) return plainlyAddressed(text, own);
  const cuts: [from: number, to: number][] = [];
  let foreign = false;
  for (const { type, offset, length, user } of entities) {
    const end = offset + length;
    const part = text.slice(offset, end).toLowerCase();
    if (type === "mention" && part === own) cuts.push([offset, end]);
    else if (type === "text_mention" && user?.id === bot.id) cuts.push([offset, end]);
    else if (type === "bot_command" && part.includes("@")) {
      const at = part.indexOf("@");
      if (part.slice(at) === own) cuts.push([offset + at, end]);
      else if (offset === 0) foreign = true;
    }
  }
  return { text: without(text, cuts), mentioned: cuts.length > 0, foreign };
}

/** The same of a text that comes without entities, as from servers that mark none: by its words alone. */
function plainlyAddressed(text: string, own: string | undefined): Addressed {
  const command = /^\/\w+(@\w+)/.exec(text);
  const foreign = command !== null && command[1]!.toLowerCase() !== own;
  const cuts = [...text.matchAll(/(?<=^\/\w+|\W|^)@\w+/g)]
    .filter(([name]) => name.toLowerCase() === own)
    .map(({ 0: name, index }): [number, number] => [index, index + name.length]);
  return { text: without(text, cuts), mentioned: cuts.length > 0, foreign };
}

/** True when nobody can tell yet whether a text speaks to the bot, because its name is not known. */
export function needsName(entities: readonly MessageEntity[] | undefined, text: string): boolean {
  return (entities ?? []).some(
    ({ type, offset, length }) =>
      type === "mention" || (type === "bot_command" && text.slice(offset, offset + length).includes("@")),
  );
}

function without(text: string, cuts: [from: number, to: number][]): string {
  let kept = "";
  let position = 0;
  for (const [from, to] of cuts.sort((a, b) => a[0] - b[0])) {
    if (from < position) continue;
    kept += text.slice(position, from);
    position = Math.min(to, text.length);
    // What is left of "@bot, do it" is "do it"; of "do @bot it", "do it".
    const gap = kept.trim() === "" ? /^[\s,:]*/ : /\s$/.test(kept) ? /^\s?/ : /^/;
    position += gap.exec(text.slice(position))![0].length;
  }
  return (kept + text.slice(position)).trim();
}
