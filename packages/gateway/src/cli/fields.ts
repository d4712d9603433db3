import { type RouteDecl, routeList } from "@agent-gateway/contract";
import * as z from "zod";
import { UsageError } from "./errors.ts";
import { type Flag, GLOBAL_FLAGS, kebab, last, type Parsed } from "./flags.ts";

type Kind = "string" | "number" | "boolean" | "list" | "json" | "choice" | "line";

/** One value that a route takes, anywhere in the request. */
export interface Field {
  name: string;
  /** `choice` is not sent, but selects one of the routes that share the command. */
  place: "params" | "query" | "body" | "choice";
  kind: Kind;
  required: boolean;
  schema: z.ZodType;
  /** Allowed values, for help. */
  hint: string;
}

/** A route that is available on the command line. */
export type CliRoute = RouteDecl & { name: string; cli: NonNullable<RouteDecl["cli"]> };

/** Routes available on the command line. */
export const cliRoutes: readonly CliRoute[] = routeList.filter(
  (route): route is CliRoute => route.cli !== undefined,
);

/** A `noun verb` command: one route, or several selected by an argument. */
export interface Command {
  noun: string;
  verb: string;
  routes: readonly [CliRoute, ...CliRoute[]];
}

export const commands: readonly Command[] = [
  ...Map.groupBy(cliRoutes, ({ cli }) => `${cli.noun} ${cli.verb}`).values(),
].map((routes) => ({
  noun: routes[0]!.cli.noun,
  verb: routes[0]!.cli.verb,
  routes: routes as [CliRoute, ...CliRoute[]],
}));

/** Takes off what says "may be missing" or "is turned into", down to the type that is written. */
function written(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault) {
    return written(schema.unwrap() as z.ZodType);
  }
  return schema instanceof z.ZodPipe ? written(schema.in as z.ZodType) : schema;
}

function kindOf(schema: z.ZodType): Kind {
  const type = written(schema);
  if (type instanceof z.ZodString || type instanceof z.ZodEnum) return "string";
  if (type instanceof z.ZodNumber) return "number";
  if (type instanceof z.ZodBoolean) return "boolean";
  if (type instanceof z.ZodArray) return "list";
  if (!(type instanceof z.ZodUnion)) return "json";
  return type.options.some((option) => kindOf(option as z.ZodType) === "string") ? "line" : "choice";
}

const HINTS: Record<Kind, string> = {
  string: "text",
  number: "number",
  boolean: "",
  list: "a,b,…",
  json: "JSON",
  choice: "true|false|a,b,…",
  line: "text or JSON list",
};

function fieldOf(name: string, place: Field["place"], schema: z.ZodType, args: readonly string[]): Field {
  const type = written(schema);
  const kind = kindOf(schema);
  return {
    name,
    place,
    kind,
    schema,
    required: place === "params" || args.includes(name) || !schema.safeParse(undefined).success,
    hint: type instanceof z.ZodEnum ? type.options.join("|") : HINTS[kind],
  };
}

const shapeOf = (schema: z.ZodType | undefined): Record<string, z.ZodType> =>
  schema instanceof z.ZodObject ? (schema.shape as Record<string, z.ZodType>) : {};

/** All values that a route takes, in its path, query and JSON body. Names that differ only in style are one. */
export function fieldsOf(route: CliRoute): Field[] {
  const args = route.cli.args ?? [];
  const params = [...route.path.matchAll(/:(\w+)|\*$/g)].map(([found, name]) => name ?? found);
  const choices = Object.entries(route.cli.fixed ?? {}).map(([name, value]) =>
    fieldOf(name, "choice", z.enum([value]), args),
  );
  const all = [
    ...choices,
    ...params.map((name) => fieldOf(name, "params", z.string(), args)),
    ...Object.entries(shapeOf(route.query?.()))
      .filter(([name]) => !Object.hasOwn(route.cli.query ?? {}, name))
      .map(([name, schema]) => fieldOf(name, "query", schema, args)),
    ...Object.entries(shapeOf(route.body?.())).map(([name, schema]) => fieldOf(name, "body", schema, args)),
  ];
  return all.filter((field, at) => all.findIndex(({ name }) => kebab(name) === kebab(field.name)) === at);
}

/** Fields of a command: those of all its routes; a choice has all their values. */
export function fieldsOfCommand({ routes }: Command): Field[] {
  const all = routes.flatMap(fieldsOf);
  return [...Map.groupBy(all, ({ name }) => name).values()].map((same) => {
    const field = same[0]!;
    const required = field.place === "choice" || same.filter((one) => one.required).length === routes.length;
    return { ...field, required, hint: [...new Set(same.map(({ hint }) => hint))].join("|") };
  });
}

/**
 * The route of a command that the line means.
 * @throws UsageError if its arguments match none
 */
export function chooseRoute({ routes }: Command, parsed: Parsed): CliRoute {
  const [first] = routes;
  if (routes.length === 1) return first;
  const words = [...parsed.positionals];
  const typed = new Map<string, string | undefined>();
  for (const name of first.cli.args ?? []) typed.set(name, last(parsed, `field:${name}`) ?? words.shift());
  const names = Object.keys(first.cli.fixed ?? {});
  const chosen = routes.find(({ cli }) => names.every((name) => cli.fixed?.[name] === typed.get(name)));
  if (chosen) return chosen;
  const [name = ""] = names;
  const values = [...new Set(routes.map(({ cli }) => cli.fixed?.[name]))].join(", ");
  throw new UsageError(
    typed.get(name) === undefined ? `Missing: ${name} (${values}).` : `${name} must be one of ${values}.`,
  );
}

/** A field's names in help, its declared short flag first; its own unless a global flag has that. */
export function flagNames(routes: readonly CliRoute[], field: Field): string[] {
  const flags = routes.flatMap(({ cli }) => Object.entries(cli.flags ?? {}));
  const declared = [...new Map(flags)].filter(([, name]) => name.split("=", 1)[0] === field.name);
  const own = field.name === "*" ? "path" : kebab(field.name);
  return [...declared.map(([flag]) => kebab(flag)), ...(GLOBAL_FLAGS.has(own) ? [] : [own])];
}

/** Every flag of a route: fields in any spelling, their declared short names, and `chat` for `chat_id` if free. */
export function flagsOf(route: CliRoute): Map<string, Flag> {
  const flags = new Map<string, Flag>(GLOBAL_FLAGS);
  const fields = fieldsOf(route);
  const add = (flag: string, field: Field) => {
    if (flags.has(flag)) return;
    const fixed = route.cli.flags?.[flag]?.split("=", 2)[1];
    flags.set(flag, {
      key: `field:${field.name}`,
      boolean: field.kind === "boolean",
      ...(fixed !== undefined && { fixed }),
    });
  };
  for (const field of fields) for (const flag of flagNames([route], field)) add(flag, field);
  for (const field of fields) add(kebab(field.name).replace(/-id$/, ""), field);
  if (route.rawReply && route.rawReply !== "sse") {
    for (const flag of ["o", "output"]) flags.set(flag, { key: "output" });
  }
  return flags;
}

const parseJson = (text: string, what: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    throw new UsageError(`${what} must be valid JSON.`);
  }
};

/** List entries: JSON, or comma-separated texts; a text stands for an object with one required field. */
function listOf(field: Field, texts: readonly string[], what: string): unknown[] {
  const type = written(field.schema);
  const element = type instanceof z.ZodArray ? written(type.element as z.ZodType) : undefined;
  const [key, ...others] = Object.keys(shapeOf(element));
  return texts.flatMap((text) => {
    if (/^\s*[[{]/.test(text)) return parseJson(text, what);
    const entries = text
      .split(",")
      .map((entry) => entry.trim())
      .filter((entry) => entry !== "");
    return key !== undefined && others.length === 0 ? entries.map((entry) => ({ [key]: entry })) : entries;
  });
}

/**
 * What was typed for a field, as the request takes it.
 * @throws UsageError if it is not of the field's type
 */
export function parseValue(field: Field, texts: readonly string[]): unknown {
  const what = field.name === "*" ? "path" : kebab(field.name);
  const text = texts.at(-1)!;
  switch (field.kind) {
    case "string":
      return text;
    case "number":
      if (text.trim() === "" || !Number.isFinite(Number(text)))
        throw new UsageError(`${what} must be a number.`);
      return Number(text);
    case "boolean":
      if (text !== "true" && text !== "false") throw new UsageError(`${what} must be true or false.`);
      return text === "true";
    case "list":
      return listOf(field, texts, what);
    case "choice":
      return text === "true" || text === "false" ? text === "true" : listOf(field, texts, what);
    case "line":
      return text.trimStart().startsWith("[") ? parseJson(text, what) : text;
    case "json":
      return parseJson(text, what);
  }
}
