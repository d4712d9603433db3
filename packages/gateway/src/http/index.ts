export { type Endpoint, endpoint, json, type Reply, type RequestContext } from "./endpoint.ts";
export { type DashboardDeps, dashboardRoutes } from "./routes/dashboard.ts";
export { type MetaDeps, metaRoutes } from "./routes/meta.ts";
export { createHttpServer, type HttpServer, type HttpServerDeps } from "./server.ts";
