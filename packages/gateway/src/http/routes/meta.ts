import { type RouteDecl, routes } from "@agent-gateway/contract";
import { type Endpoint, endpoint, json } from "../endpoint.ts";
import { openApi } from "../openapi.ts";

export interface MetaDeps {
  version: string;
  /** The declarations that are served, these routes' own among them. */
  served: () => readonly RouteDecl[];
}

/** `/health`, and what the gateway says of its own routes. */
export function metaRoutes({ version, served }: MetaDeps): Endpoint[] {
  let document: string | undefined;
  return [
    endpoint(routes.health, () => json({ status: "ok" as const })),
    endpoint(routes.routesMeta, () =>
      json({
        routes: served().map(({ method, path, auth, summary, tag }) => ({
          method,
          path,
          auth,
          summary,
          tag,
        })),
      }),
    ),
    endpoint(routes.openapi, () => {
      // Takes some milliseconds, so neither the start nor a second reader pays for it.
      document ??= JSON.stringify(openApi(served(), version));
      return { status: 200, headers: { "Content-Type": "application/json; charset=utf-8" }, bytes: document };
    }),
  ];
}
