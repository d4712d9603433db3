import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { expect, it } from "vitest";

const source = fileURLToPath(new URL("../../packages/gateway/src/", import.meta.url));

/** Modules of the gateway that are in memory before it knows its configuration, by their paths in its source. */
async function modulesAtStart(): Promise<string[]> {
  const bundle = await rolldown({
    input: `${source}serve.ts`,
    platform: "node",
    external: ["baileys", "zlib-sync", "bufferutil", "utf-8-validate"],
    logLevel: "silent",
  });
  const { output } = await bundle.generate({ format: "esm" });
  await bundle.close();
  const chunks = new Map(output.filter((one) => one.type === "chunk").map((one) => [one.fileName, one]));
  const left = [...chunks.values()].filter(({ isEntry }) => isEntry).map(({ fileName }) => fileName);
  const loaded = new Set<string>();
  for (let name = left.pop(); name !== undefined; name = left.pop()) {
    if (loaded.has(name)) continue;
    loaded.add(name);
    // Those that it imports when it is asked to are not among these.
    left.push(...(chunks.get(name)?.imports ?? []));
  }
  return [...loaded].flatMap((name) => Object.keys(chunks.get(name)?.modules ?? {}));
}

it("a start loads no provider, no runtime with a program and no WebSocket library [SPEED-4]", async () => {
  const modules = await modulesAtStart();
  const own = modules.filter((id) => id.startsWith(source)).map((id) => id.slice(source.length));
  expect(own).toContain("app.ts");
  expect(own).toContain("channels/index.ts");
  expect(own.filter((id) => /^channels\/[a-z]+\//.test(id))).toEqual([]);
  expect(own).not.toContain("channels/room.ts");
  expect(own).not.toContain("packages/room.ts");
  expect(own.filter((id) => /^(?:owners|store\/postgres|store\/copy)\//.test(id))).toEqual([]);
  expect(own.filter((id) => /^runtimes\/(?:acp|agent-cli|builtin)\//.test(id))).toEqual([]);
  expect(own.filter((id) => id.startsWith("cli/"))).toEqual([]);
  const packages = new Set(modules.map((id) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(id)?.[1]));
  packages.delete(undefined);
  expect([...packages]).toEqual(["zod"]);
});
