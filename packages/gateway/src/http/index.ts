export { type Endpoint, endpoint, json, type Reply, type RequestContext } from "./endpoint.ts";
export * as routes from "./routes/index.ts";
export { createHttpServer, type HttpServer, type HttpServerDeps } from "./server.ts";
export { createStreamSlots } from "./stream-slots.ts";
