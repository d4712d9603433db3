import { fileURLToPath } from "node:url";
import { type RouteDecl, routes } from "@agent-gateway/contract";
import { defineConfig, type Plugin } from "vite";

const CONTRACT = fileURLToPath(new URL("../contract/src/", import.meta.url));
const ROUTES = `${CONTRACT}routes/index.ts`;

/**
 * The contract's client needs of each route its method, path and kind of body alone. The schemas, and the validator
 * that they are written in, stay out of the page: the gateway checks everything anyway.
 */
function slimRoutes(): Plugin {
  const slim = Object.entries(routes).map(([name, { method, path, rawBody }]: [string, RouteDecl]) => [
    name,
    { method, path, rawBody },
  ]);
  return {
    name: "slim-routes",
    load: (id) =>
      id === ROUTES
        ? `export const routes = ${JSON.stringify(Object.fromEntries(slim))}; export const routeList = [];`
        : undefined,
  };
}

export default defineConfig({
  root: import.meta.dirname,
  base: "/dashboard/",
  plugins: [slimRoutes()],
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "../gateway/dist/dashboard",
    emptyOutDir: true,
    target: "es2023",
    // The page's policy allows neither data: addresses nor inline scripts, so nothing may be inlined.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      // The dashboard, the page behind the link of `/cli`, and its viewer.
      input: ["index", "cli", "viewer"].map((name) =>
        fileURLToPath(new URL(`./${name}.html`, import.meta.url)),
      ),
      treeshake: {
        moduleSideEffects: [{ test: /packages[\\/]contract|node_modules[\\/]zod/, sideEffects: false }],
      },
    },
  },
});
