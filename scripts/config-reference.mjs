// Writes the table of configuration keys into docs/OPERATIONS.md, from the schema that reads the file.
// With --check it writes nothing and exits with status 1 if the table is out of date.
import { readFile, writeFile } from "node:fs/promises";
import * as z from "zod";
import { unwrap } from "../packages/gateway/src/config/introspect.ts";
import { configFile } from "../packages/gateway/src/config/schema.ts";

const BEGIN = "<!-- config reference: begin (scripts/config-reference.mjs) -->";
const END = "<!-- config reference: end -->";
const page = new URL("../docs/OPERATIONS.md", import.meta.url);

function typeOf(outer) {
  const { schema, nullable: alsoNull } = unwrap(outer);
  const nullable = alsoNull ? " or null" : "";
  if (schema instanceof z.ZodString) return `text${nullable}`;
  if (schema instanceof z.ZodBoolean) return `true or false${nullable}`;
  if (schema instanceof z.ZodNumber) return `${schema.isInt ? "whole number" : "number"}${nullable}`;
  if (schema instanceof z.ZodEnum) return schema.options.map((option) => `\`${option}\``).join(", ");
  if (schema instanceof z.ZodLiteral)
    return [...schema.values].map((value) => `\`${JSON.stringify(value)}\``).join(", ");
  if (schema instanceof z.ZodArray) return `list of ${typeOf(schema.element)}`;
  if (schema instanceof z.ZodUnion) return schema.options.map(typeOf).join(" or ");
  return "object";
}

function rows(path, outer) {
  const { schema, fallback, description, restart } = unwrap(outer);
  const object =
    schema instanceof z.ZodUnion
      ? schema.options.map((option) => unwrap(option).schema).find((option) => option instanceof z.ZodObject)
      : schema;
  const own = [];
  if (description) {
    const shown = fallback === undefined ? "" : `\`${JSON.stringify(fallback)}\``;
    own.push(`| \`${path}\` | ${typeOf(outer)} | ${shown} | ${restart ? "yes" : ""} | ${description} |`);
  }
  if (object instanceof z.ZodObject) {
    const at = (key) => (path ? `${path}.${key}` : key);
    return [...own, ...Object.entries(object.shape).flatMap(([key, child]) => rows(at(key), child))];
  }
  if (schema instanceof z.ZodArray) return [...own, ...children(`${path}[]`, schema.element)];
  if (schema instanceof z.ZodRecord) return [...own, ...children(`${path}.<name>`, schema.valueType)];
  if (!description) throw new Error(`${path} has no description in the schema`);
  return own;
}

/** List elements get rows only for their contents. */
function children(path, element) {
  return unwrap(element).schema instanceof z.ZodObject ? rows(path, element) : [];
}

const table = [
  "| key | type | default | restart | meaning |",
  "|---|---|---|---|---|",
  ...rows("", configFile),
].join("\n");
const text = await readFile(page, "utf8");
const [before, rest] = text.split(BEGIN);
const after = rest?.split(END)[1];
if (after === undefined)
  throw new Error("docs/OPERATIONS.md lacks the markers of the configuration reference");
const next = `${before}${BEGIN}\n${table}\n${END}${after}`;
if (!process.argv.includes("--check")) await writeFile(page, next);
else if (next !== text) {
  console.error("docs/OPERATIONS.md is out of date; run: node scripts/config-reference.mjs");
  process.exitCode = 1;
}
