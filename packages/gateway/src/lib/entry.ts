import { URL } from "node:url";

/**
 * Address of a worker's entry file in `src/`. Run from sources this file sits in `src/lib`; bundled, every chunk
 * and entry sits in one folder.
 */
export function workerEntry(name: "writer" | "reader"): URL {
  return import.meta.url.endsWith(".ts")
    ? new URL(`../worker-${name}.ts`, import.meta.url)
    : new URL(`./worker-${name}.js`, import.meta.url);
}
