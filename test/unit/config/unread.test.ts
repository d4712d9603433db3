import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import * as z from "zod";
import { unwrap } from "../../../packages/gateway/src/config/introspect.ts";
import { configFile } from "../../../packages/gateway/src/config/schema.ts";
import { root } from "../../harness.ts";

/** Keys whose name something else has too, or that are handed on without being acted on. */
const HANDED_ON = [
  "orchestration.enabled",
  "appBackup.cleanupTimezone",
  "reflection.timezone",
  "agents.voice",
];
/** Keys that the configuration's own code acts on. */
const OWN = ["configVersion", "gateway.timezone"];

function leaves(path: string, outer: z.ZodType): [path: string, description: string][] {
  const { schema, description } = unwrap(outer);
  if (schema instanceof z.ZodArray) return leaves(path, schema.element as z.ZodType);
  if (!(schema instanceof z.ZodObject)) return [[path, description ?? ""]];
  return Object.entries(schema.shape).flatMap(([key, child]) =>
    leaves(path ? `${path}.${key}` : key, child as z.ZodType),
  );
}

it("a key that nothing reads is documented as without effect, and no other [CONF-DOC-1]", async () => {
  const source = join(root, "packages/gateway/src");
  const files = (await readdir(source, { recursive: true })).filter((name) => name.endsWith(".ts"));
  const others = files.filter((name) => !name.startsWith("config/"));
  const text = (await Promise.all(others.map((name) => readFile(join(source, name), "utf8")))).join("\n");
  const wrong = leaves("", configFile).filter(([path, description]) => {
    const name = path.split(".").at(-1) as string;
    const handedOn = HANDED_ON.some((end) => path.endsWith(end));
    const used =
      !handedOn && (OWN.includes(path) || new RegExp(`\\b${name.replace(/[^\w]/g, "")}\\b`).test(text));
    return used === description.includes("No effect yet");
  });
  expect(wrong.map(([path]) => path)).toEqual([]);
});
