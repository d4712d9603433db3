import { GatewayError, type RouteDecl, routes } from "@agent-gateway/contract";
import { type Endpoint, endpoint, json } from "../endpoint.ts";
import { openApi } from "../openapi.ts";

export interface MetaDeps {
  version: string;
  /** State of the disk, without waiting for it. */
  disk: () => "ok" | "low" | "stuck";
  /** Whether the store answers, without asking it. */
  storeAnswers(): boolean;
  /** The served declarations, including these routes' own. */
  served: () => readonly RouteDecl[];
}

/** `/health`, and the description of the gateway's own routes. */
export function metaRoutes({ version, disk, storeAnswers, served }: MetaDeps): Endpoint[] {
  let document: string | undefined;
  return [
    endpoint(routes.health, () => {
      const state = disk();
      if (state === "stuck") {
        throw new GatewayError("UNAVAILABLE", "The gateway is not healthy; its log says why.", {
          extra: { status: "unhealthy" },
        });
      }
      return json({ status: "ok" as const, ...(state === "low" && { disk: state }) });
    }),
    endpoint(routes.ready, () => {
      if (!storeAnswers()) {
        throw new GatewayError("UNAVAILABLE", "The gateway's store does not answer at the moment.", {
          headers: { "retry-after": "2" },
        });
      }
      return json({ status: "ready" as const });
    }),
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
      // Takes some milliseconds, so it is built on first use and kept.
      document ??= JSON.stringify(openApi(served(), version));
      return { status: 200, headers: { "Content-Type": "application/json; charset=utf-8" }, bytes: document };
    }),
  ];
}
