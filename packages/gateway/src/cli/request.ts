import { UsageError } from "./errors.ts";
import { type CliRoute, fieldsOf, parseValue } from "./fields.ts";
import { kebab, last, type Parsed } from "./flags.ts";

/** A request to a route, as the typed client takes it. */
export interface RouteInput {
  params: Record<string, string>;
  query: Record<string, unknown>;
  body?: Record<string, unknown>;
}

/**
 * The value of `--data`: an object, or undefined if there is none.
 * @throws UsageError
 */
export function readData(parsed: Parsed): Record<string, unknown> | undefined {
  const text = last(parsed, "data");
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) {
      return value as Record<string, unknown>;
    }
  } catch {
    // Reported below.
  }
  throw new UsageError(`--data must be a JSON object, such as --data '{"chat_id": "me"}'.`);
}

/**
 * Builds the request for a command line. Arguments and flags override `--data`.
 * @returns the request, with the positional arguments that belong to no field
 * @throws UsageError for a missing or malformed value
 */
export function buildRequest(route: CliRoute, parsed: Parsed): { input: RouteInput; left: string[] } {
  const fields = fieldsOf(route);
  const data = readData(parsed) ?? {};
  const typed = new Map<string, readonly string[]>();
  for (const field of fields) {
    const values = parsed.values.get(`field:${field.name}`);
    if (values) typed.set(field.name, values);
  }
  const left = [...parsed.positionals];
  for (const name of route.cli.args ?? []) {
    if (typed.has(name)) continue;
    const word = left.shift();
    if (word !== undefined) typed.set(name, [word]);
  }

  const input: RouteInput = { params: {}, query: {} };
  const inBody = route.body !== undefined;
  const free = inBody ? {} : input.query;
  if (!route.rawBody) Object.assign(free, data);
  const given = new Set(Object.keys(data).map(kebab));
  const missing: string[] = [];
  for (const field of fields) {
    const texts = typed.get(field.name);
    if (field.place === "choice") continue;
    if (texts) {
      const value = parseValue(field, texts);
      if (field.place === "params") input.params[field.name] = String(value);
      else if (field.place === "query") input.query[field.name] = value;
      else free[field.name] = value;
    } else if (field.required && (field.place === "params" || !given.has(kebab(field.name)))) {
      missing.push(field.name === "*" ? "path" : kebab(field.name));
    }
  }
  if (missing.length > 0) throw new UsageError(`Missing: ${missing.join(", ")}.`);
  Object.assign(input.query, route.cli.query);
  if (inBody) input.body = free;
  return { input, left };
}
