import { routes } from "@agent-gateway/contract";
import type { Monitoring } from "../../monitoring/index.ts";
import { type Endpoint, endpoint, json } from "../endpoint.ts";

export interface MonitoringRouteDeps {
  monitoring: Pick<Monitoring, "status" | "activity" | "processes" | "metrics">;
}

/** `/status`, `/processes` and `/metrics`. */
export function monitoringRoutes({ monitoring }: MonitoringRouteDeps): Endpoint[] {
  return [
    endpoint(routes.status, async ({ query }) => {
      const status = await monitoring.status();
      return json(query.include === "activity" ? { ...status, activity: monitoring.activity() } : status);
    }),
    endpoint(routes.processes, async () => json(await monitoring.processes())),
    endpoint(routes.metrics, async () => ({
      status: 200,
      headers: { "Content-Type": "text/plain; version=0.0.4; charset=utf-8" },
      bytes: await monitoring.metrics(),
    })),
  ];
}
