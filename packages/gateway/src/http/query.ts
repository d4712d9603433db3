import { GatewayError } from "@agent-gateway/contract";

const bad = (message: string, path = "") =>
  new GatewayError("INVALID_REQUEST", message, { details: [{ path, message }] });

function decode(text: string): string {
  const spaced = text.includes("+") ? text.replaceAll("+", " ") : text;
  if (!spaced.includes("%")) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    throw bad("The query has a broken percent-encoding.");
  }
}

/**
 * Fields of a query string, on an object without prototype.
 * @throws GatewayError `INVALID_REQUEST` for a broken encoding or a field that is given twice.
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

/** @throws GatewayError `INVALID_REQUEST` for a path that no client means: broken encoding, or a NUL character. */
export function checkPath(path: string): void {
  if (!path.startsWith("/")) throw bad("The address is malformed.");
  if (!path.includes("%")) return;
  try {
    if (!decodeURIComponent(path).includes("\0")) return;
  } catch {
    throw bad("The address has a broken percent-encoding.");
  }
  throw bad("The address has a NUL character.");
}
