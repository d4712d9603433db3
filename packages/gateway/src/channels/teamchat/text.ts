/** `<…>` of Slack's messages: `@user`, `#channel`, `!command`, or a link, each with an optional label. */
const TOKEN = /<([@#!]?)([^<>|\s][^<>|]*)(?:\|([^<>]*))?>/g;
/** What ends a mention, with what is said to set it off. */
const END = /(?:\|[^<>]*)?>[ \t]*[:,]?[ \t]*/y;
const ENTITIES: Readonly<Record<string, string>> = { "&lt;": "<", "&gt;": ">", "&amp;": "&" };

const decode = (text: string) => text.replace(/&(?:lt|gt|amp);/g, (entity) => ENTITIES[entity] ?? entity);

function readableToken(kind: string, value: string, label: string | undefined): string {
  const named = label === undefined || label === "" ? undefined : label;
  if (kind === "@" || kind === "#") return `${kind}${named?.replace(/^[@#]/, "") ?? value}`;
  if (kind === "!") {
    if (named !== undefined) return named;
    const [word = "", id] = value.split("^");
    return `@${word === "subteam" && id ? id : word}`;
  }
  const address = value.replace(/^mailto:/, "");
  if (
    named === undefined ||
    named === address ||
    value === `https://${named}` ||
    value === `http://${named}`
  ) {
    return named ?? address;
  }
  return `${named} (${address})`;
}

/** Removes every mention of a user with the blanks around it, in time linear in the text, whatever it contains. */
function withoutMention(text: string, id: string): string {
  const start = `<@${id}`;
  const parts: string[] = [];
  let from = 0;
  for (let at = text.indexOf(start); at !== -1; at = text.indexOf(start, at + start.length)) {
    END.lastIndex = at + start.length;
    if (!END.test(text)) continue;
    let end = at;
    while (end > from && (text[end - 1] === " " || text[end - 1] === "\t")) end--;
    parts.push(text.slice(from, end));
    from = END.lastIndex;
  }
  return [...parts, text.slice(from)].join(" ");
}

/**
 * Slack's text as people read it: mentions, channels and links without their brackets, entities decoded, mentions of
 * `own` user ids left out.
 * Source: https://docs.slack.dev/messaging/formatting-message-text#retrieving-messages
 */
export function readable(text: string, own: readonly string[]): string {
  const left = own.reduce(withoutMention, text);
  const shown = left.replace(TOKEN, (_, kind: string, value: string, label?: string) =>
    readableToken(kind, value, label),
  );
  return decode(shown).trim();
}

/** True when the text mentions one of these user ids. */
export function mentions(text: string, ids: readonly string[]): boolean {
  return ids.some((id) => text.includes(`<@${id}>`) || text.includes(`<@${id}|`));
}
