/** The values of a `Cookie` header by name; of several with one name, the first, which has the longest path. */
export function parseCookies(header: string | undefined): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const pair of header?.split(";") ?? []) {
    const equals = pair.indexOf("=");
    const name = pair.slice(0, Math.max(0, equals)).trim();
    if (!found.has(name)) found.set(name, pair.slice(equals + 1).trim());
  }
  return found;
}
