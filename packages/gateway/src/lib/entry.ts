import { fileURLToPath, URL } from "node:url";

/**
 * Address of an entry file in `src/`. Run from sources this file sits in `src/lib`; bundled, every chunk and entry
 * sits in one folder.
 */
function entry(name: string): URL {
  return import.meta.url.endsWith(".ts")
    ? new URL(`../${name}.ts`, import.meta.url)
    : new URL(`./${name}.js`, import.meta.url);
}

/** Entry file of a thread: the database's two, and the watchdog. */
export const workerEntry = (name: "writer" | "reader" | "watchdog"): URL => entry(`worker-${name}`);

/** Entry file of the process that runs one session of the builtin runtime. */
export const builtinAgentEntry = (): URL => entry("builtin-agent");

/** Entry file of the tool server that agent programs start and that passes on to the gateway. */
export const toolServerEntry = (): URL => entry("mcp-stdio");

/** Entry file of the program by which an agent program reaches an MCP server at an address. */
export const mcpBridgeEntry = (): URL => entry("mcp-bridge");

/** Folder of the built web page. From sources it is where the build puts it. */
export const dashboardFolder = (): string =>
  fileURLToPath(
    new URL(import.meta.url.endsWith(".ts") ? "../../dist/dashboard" : "./dashboard", import.meta.url),
  );

/** The file that starts the program. */
export const programFile = (): string =>
  fileURLToPath(
    new URL(
      import.meta.url.endsWith(".ts") ? "../../bin/agent-gateway.mjs" : "../bin/agent-gateway.mjs",
      import.meta.url,
    ),
  );
