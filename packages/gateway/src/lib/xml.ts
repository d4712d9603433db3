/** Makes text harmless between tags. */
export function escapeText(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/**
 * Text of which no part can pass for a channel's message, which only the gateway may tell an agent of. All else of it
 * stays as it is.
 */
export function withoutChannelMessages(text: string): string {
  return text.replace(/<(?=[\s/]*channel_message)/gi, "&lt;");
}

/** Makes text harmless between tags and inside double-quoted attributes. */
export function escapeXml(text: string): string {
  return escapeText(text).replaceAll('"', "&quot;");
}
