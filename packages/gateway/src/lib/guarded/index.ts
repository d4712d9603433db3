/** The one place that opens files which an agent can reach. */
export * from "./folder.ts";
export * from "./read.ts";
export * from "./state.ts";
export * from "./tree.ts";
