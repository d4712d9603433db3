// Bundles the gateway and its page into packages/gateway/dist.
import { existsSync } from "node:fs";
import { cp, mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { rolldown } from "rolldown";
import { build as viteBuild } from "vite";
import { root } from "./lib.mjs";

const gateway = join(root, "packages/gateway");
const dist = join(gateway, "dist");
const fresh = join(gateway, "dist-new");
/** Entry points that start on their own or are loaded only by `main`. Each is bundled into a single file. */
const ENTRIES = {
  main: "main.ts",
  serve: "serve.ts",
  cli: "cli/index.ts",
  "worker-writer": "worker-writer.ts",
  "worker-reader": "worker-reader.ts",
  "worker-watchdog": "worker-watchdog.ts",
  "builtin-agent": "builtin-agent.ts",
  "mcp-stdio": "mcp-stdio.ts",
  "mcp-bridge": "mcp-bridge.ts",
};
/**
 * Not bundled: `baileys` is optional, its Signal library is under the GPL, and it is loaded only when a device is
 * linked; `@lydell/node-pty` finds its compiled part by the platform.
 */
const UNBUNDLED = ["@lydell/node-pty", "pg-native", "baileys", "zlib-sync", "bufferutil", "utf-8-validate"];

/**
 * Importing a built-in as an ES module reads all its exports and so loads the lazy ones: for `node:http` that is all
 * of undici, a quarter of the start-up time. This takes the plain exports from the module itself.
 */
const LIGHT = new Set(["node:async_hooks"]);
const plainBuiltins = {
  name: "plain-builtins",
  // The bundler's own runtime comes before every module, so it must not wait for one.
  resolveId: (id, importer, { kind }) =>
    id.startsWith("node:") && kind === "import-statement" && !importer?.startsWith("\0rolldown/")
      ? `\0${id}`
      : null,
  load(id) {
    if (!id.startsWith("\0node:")) return null;
    const name = id.slice(1);
    const descriptors = Object.entries(Object.getOwnPropertyDescriptors(process.getBuiltinModule(name)));
    const plain = descriptors.filter(
      ([key, { get }]) =>
        (get === undefined || LIGHT.has(name)) && /^[A-Za-z_$][\w$]*$/.test(key) && key !== "default",
    );
    const exports = plain.map(([key]) => `export const ${key} = /* @__PURE__ */ (() => builtin.${key})();`);
    return {
      code: `const builtin = process.getBuiltinModule("${name}");\n${exports.join("\n")}\nexport default builtin;`,
      moduleSideEffects: false,
    };
  },
};

await rm(fresh, { recursive: true, force: true });
await mkdir(fresh, { recursive: true });
/** `main` finds the other two by their file names. */
const bundledBeside = {
  name: "bundled-beside",
  resolveId(id, importer) {
    if (importer !== join(gateway, "src/main.ts")) return null;
    const name = Object.keys(ENTRIES).find((key) => id === `./${ENTRIES[key]}`);
    return name ? { id: `./${name}.js`, external: true } : null;
  },
};

function failOnWarning(level, { message }) {
  if (level === "warn") throw new Error(message);
}

for (const [name, file] of Object.entries(ENTRIES)) {
  const bundle = await rolldown({
    input: { [name]: join(gateway, "src", file) },
    platform: "node",
    external: UNBUNDLED,
    resolve: { conditionNames: ["node", "import", "default"] },
    plugins: [bundledBeside, plainBuiltins],
    checks: { pluginTimings: false },
    onLog: failOnWarning,
  });
  await bundle.write({
    dir: fresh,
    format: "esm",
    entryFileNames: "[name].js",
    chunkFileNames: `${name}-[name]-[hash].js`,
    // What the gateway needs at its start is in one file: each further one costs it up to a millisecond.
    codeSplitting: name === "serve" ? { groups: [{ name: "start", tags: ["$initial"] }] } : true,
  });
  await bundle.close();
}
if (existsSync(join(root, "packages/dashboard/vite.config.ts"))) {
  await viteBuild({
    root: join(root, "packages/dashboard"),
    configFile: join(root, "packages/dashboard/vite.config.ts"),
    logLevel: "warn",
    build: {
      outDir: join(fresh, "dashboard"),
      emptyOutDir: true,
      rolldownOptions: { onLog: failOnWarning },
    },
  });
}
// npm packs what is in the folder of the package.
for (const name of ["CHANGELOG.md", "LICENSE"]) {
  await cp(join(root, name), join(gateway, name), { preserveTimestamps: true });
}
await writeFile(join(fresh, ".built"), "");
await rm(dist, { recursive: true, force: true });
await rename(fresh, dist);
