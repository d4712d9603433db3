// Bundles the gateway and its page into packages/gateway/dist.
import { existsSync } from "node:fs";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { rolldown } from "rolldown";
import { build as viteBuild } from "vite";
import { root } from "./lib.mjs";

const gateway = join(root, "packages/gateway");
const dist = join(gateway, "dist");
const fresh = join(gateway, "dist-new");
const ENTRIES = ["main", "worker-writer", "worker-reader", "builtin-agent", "mcp-stdio"];

/**
 * Importing a built-in as an ES module reads all its exports, which loads what lies behind lazy ones: for `node:http`
 * that is the whole of undici, a quarter of the start. This takes the plain ones from the module itself.
 */
const plainBuiltins = {
  name: "plain-builtins",
  resolveId: (id, _importer, { kind }) => (id.startsWith("node:") && kind === "import-statement" ? `\0${id}` : null),
  load(id) {
    if (!id.startsWith("\0node:")) return null;
    const name = id.slice(1);
    const descriptors = Object.entries(Object.getOwnPropertyDescriptors(process.getBuiltinModule(name)));
    const plain = descriptors.filter(([key, { get }]) => get === undefined && /^[A-Za-z_$][\w$]*$/.test(key) && key !== "default");
    const exports = plain.map(([key]) => `export const ${key} = /* @__PURE__ */ (() => builtin.${key})();`);
    return { code: `const builtin = process.getBuiltinModule("${name}");\n${exports.join("\n")}\nexport default builtin;`, moduleSideEffects: false };
  },
};

await rm(fresh, { recursive: true, force: true });
await mkdir(fresh, { recursive: true });
const bundle = await rolldown({
  input: Object.fromEntries(
    ENTRIES.map((name) => [name, join(gateway, `src/${name}.ts`)]).filter(([, file]) => existsSync(file)),
  ),
  platform: "node",
  resolve: { conditionNames: ["node", "import", "default"] },
  plugins: [plainBuiltins],
  logLevel: "warn",
  checks: { pluginTimings: false },
});
await bundle.write({
  dir: fresh,
  format: "esm",
  entryFileNames: "[name].js",
  chunkFileNames: "[name]-[hash].js",
});
await bundle.close();
if (existsSync(join(root, "packages/dashboard/vite.config.ts"))) {
  await viteBuild({
    root: join(root, "packages/dashboard"),
    configFile: join(root, "packages/dashboard/vite.config.ts"),
    logLevel: "warn",
    build: { outDir: join(fresh, "dashboard"), emptyOutDir: true },
  });
}
await writeFile(join(fresh, ".built"), "");
await rm(dist, { recursive: true, force: true });
await rename(fresh, dist);
