/** A JID without device and agent: `49170:3@s.whatsapp.net` becomes `49170@s.whatsapp.net`. */
export function bareJid(jid: string): string {
  const at = jid.lastIndexOf("@");
  const [user = ""] = jid.slice(0, at).split(/[:_]/, 1);
  const server = jid.slice(at + 1);
  return `${user}@${server === "c.us" ? "s.whatsapp.net" : server}`;
}

/** What is before the `@`, without device and agent. */
export const userOf = (jid: string): string => bareJid(jid).split("@")[0]!;

/** The number behind a user JID, international with `+`. */
export const numberOf = (jid: string): string => `+${userOf(jid)}`;

export const isGroup = (jid: string): boolean => jid.endsWith("@g.us");

/** Users and their aliases; no groups, broadcasts, newsletters, bots. */
export const isUser = (jid: string): boolean => /@(?:s\.whatsapp\.net|lid|c\.us)$/.test(jid);
