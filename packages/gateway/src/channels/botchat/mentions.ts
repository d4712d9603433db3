import type { BotIdentity } from "./identity.ts";
import type { MessageEntity } from "./update.ts";

/** Commands and names of bots have 32 characters at most. */
const MAX_WORD = 256;
/** What sets a mention off at the beginning of a text, and within it. */
const FIRST_GAP = /[\s,:]*/y;
const GAP = /\s?/y;

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
  for (const entity of entities) {
    const { type, offset, user } = entity;
    const end = offset + entity.length;
    const part = wordOf(text, entity).toLowerCase();
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

/** What an entity marks; nothing where that is longer than a command with a name. */
const wordOf = (text: string, { offset, length }: MessageEntity): string =>
  length > MAX_WORD ? "" : text.slice(offset, offset + length);

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
    (entity) =>
      entity.type === "mention" || (entity.type === "bot_command" && wordOf(text, entity).includes("@")),
  );
}

function without(text: string, cuts: [from: number, to: number][]): string {
  const kept: string[] = [];
  let position = 0;
  /** Nothing that shows is kept yet. */
  let blank = true;
  /** What is kept ends with a space. */
  let spaced = false;
  for (const [from, to] of cuts.sort((a, b) => a[0] - b[0])) {
    if (from < position) continue;
    const part = text.slice(position, from);
    kept.push(part);
    blank &&= part.trim() === "";
    if (part !== "") spaced = /\s/.test(part.at(-1)!);
    position = Math.min(to, text.length);
    // What is left of "@bot, do it" is "do it"; of "do @bot it", "do it".
    const gap = blank ? FIRST_GAP : spaced ? GAP : undefined;
    if (!gap) continue;
    gap.lastIndex = position;
    gap.test(text);
    position = gap.lastIndex;
  }
  return (kept.join("") + text.slice(position)).trim();
}
