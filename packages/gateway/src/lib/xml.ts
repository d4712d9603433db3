/** Makes text harmless between tags. */
export function escapeText(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** Makes text harmless between tags and inside double-quoted attributes. */
export function escapeXml(text: string): string {
  return escapeText(text).replaceAll('"', "&quot;");
}
