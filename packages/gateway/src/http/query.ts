import { GatewayError } from "@agent-gateway/contract";

const bad = (message: string, path = "") =>
  new GatewayError("INVALID_REQUEST", message, { details: [{ path, message }] });

function decode(text: string): string {
  const spaced = text.includes("+") ? text.replaceAll("+", " ") : text;
  if (!spaced.includes("%")) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    throw bad("The query has invalid percent-encoding.");
  }
}

/**
 * Parses a query string into an object without a prototype.
 * @throws GatewayError `INVALID_REQUEST` for invalid percent-encoding or a repeated field.
 */
export function parseQuery(text: string): Record<string, string> {
  const fields: Record<string, string> = Object.create(null);
  if (text === "") return fields;
  for (const pair of text.split("&")) {
    if (pair === "") continue;
    const equals = pair.indexOf("=");
    const name = decode(equals < 0 ? pair : pair.slice(0, equals));
    if (name in fields) throw bad(`${name}: is given more than once.`, name);
    fields[name] = equals < 0 ? "" : decode(pair.slice(equals + 1));
  }
  return fields;
}

/** @throws GatewayError `INVALID_REQUEST` for invalid percent-encoding or a NUL character. */
export function checkPath(path: string): void {
  if (!path.startsWith("/")) throw bad("The path is malformed.");
  if (!path.includes("%")) return;
  try {
    if (!decodeURIComponent(path).includes("\0")) return;
  } catch {
    throw bad("The path has invalid percent-encoding.");
  }
  throw bad("The path contains a NUL character.");
}
