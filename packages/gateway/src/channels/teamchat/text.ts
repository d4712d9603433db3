/** `<…>` of Slack's messages: `@user`, `#channel`, `!command`, or a link, each with an optional label. */
const TOKEN = /<([@#!]?)([^<>|\s][^<>|]*)(?:\|([^<>]*))?>/g;
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

/**
 * Slack's text as people read it: mentions, channels and links without their brackets, entities decoded, mentions of
 * `own` user ids left out.
 * Source: https://docs.slack.dev/messaging/formatting-message-text#retrieving-messages
 */
export function readable(text: string, own: readonly string[]): string {
  let left = text;
  for (const id of own)
    left = left.replace(new RegExp(`[ \\t]*<@${id}(?:\\|[^<>]*)?>[ \\t]*[:,]?[ \\t]*`, "g"), " ");
  const shown = left.replace(TOKEN, (_, kind: string, value: string, label?: string) =>
    readableToken(kind, value, label),
  );
  return decode(shown).trim();
}

/** True when the text mentions one of these user ids. */
export function mentions(text: string, ids: readonly string[]): boolean {
  return ids.some((id) => text.includes(`<@${id}>`) || text.includes(`<@${id}|`));
}
