import type { McpServer } from "../runtimes/index.ts";

const MASK = "[redacted]";
/** Shorter settings are words like `true`. Of the secrets themselves every one counts. */
const MIN_SETTING = 8;

/** Masks a server's secrets, its headers and its environment in what comes back from it, also as URLs and JSON have them. */
export function maskOf(server: McpServer, secrets: Iterable<string>): (text: string) => string {
  const settings = Object.values(("command" in server ? server.env : server.headers) ?? {});
  const values = new Set([...secrets, ...settings.filter((value) => value.length >= MIN_SETTING)]);
  const forms = [...values].flatMap((value) => [
    value,
    JSON.stringify(value).slice(1, -1),
    encodeURIComponent(value.toWellFormed()),
    encodeURI(value.toWellFormed()),
  ]);
  const parts = [...new Set(forms)].filter(Boolean).sort((a, b) => b.length - a.length);
  if (parts.length === 0) return (text) => text;
  const pattern = new RegExp(parts.map((part) => RegExp.escape(part)).join("|"), "g");
  return (text) => text.replace(pattern, MASK);
}
