import * as z from "zod";
import { route } from "../route.ts";
import {
  command,
  login as loginBody,
  processes as processList,
  routeMeta,
  statusQuery,
  status as statusReply,
} from "../schemas/ops.ts";

export const health = route({
  method: "GET",
  path: "/health",
  auth: "none",
  summary: "Liveness.",
  tag: "monitoring",
  responses: { 200: () => z.object({ status: z.literal("ok"), disk: z.literal("low").optional() }) },
  errors: ["UNAVAILABLE"],
  cli: { noun: "gateway", verb: "health" },
});

export const ready = route({
  method: "GET",
  path: "/ready",
  auth: "none",
  summary: "Whether the gateway can take requests now.",
  tag: "monitoring",
  responses: { 200: () => z.object({ status: z.literal("ready") }) },
  errors: ["UNAVAILABLE"],
  cli: { noun: "gateway", verb: "ready" },
});

export const status = route({
  method: "GET",
  path: "/status",
  auth: "admin",
  monitor: true,
  summary: "Show agents, live sessions and counters.",
  tag: "monitoring",
  query: statusQuery,
  responses: { 200: statusReply },
  cli: { noun: "gateway", verb: "status" },
});

export const processes = route({
  method: "GET",
  path: "/processes",
  auth: "admin",
  monitor: true,
  summary: "List the gateway's processes, without their arguments.",
  tag: "monitoring",
  responses: { 200: processList },
  cli: { noun: "gateway", verb: "processes" },
});

export const metrics = route({
  method: "GET",
  path: "/metrics",
  auth: "admin",
  monitor: true,
  summary: "Metrics in Prometheus text format.",
  tag: "monitoring",
  rawReply: "text",
  responses: { 200: null },
  cli: { noun: "gateway", verb: "metrics" },
});

export const routesMeta = route({
  method: "GET",
  path: "/api/v1/_meta/routes",
  auth: "key",
  summary: "List every route with its auth level.",
  tag: "meta",
  responses: { 200: () => z.object({ routes: z.array(routeMeta()) }) },
  cli: { noun: "meta", verb: "routes" },
});

export const openapi = route({
  method: "GET",
  path: "/api/v1/openapi.json",
  auth: "none",
  summary: "OpenAPI 3.1 document of all routes.",
  tag: "meta",
  responses: { 200: () => z.record(z.string(), z.unknown()) },
  cli: { noun: "meta", verb: "openapi" },
});

export const commands = route({
  method: "GET",
  path: "/api/v1/commands",
  auth: "key",
  summary: "List the slash commands.",
  tag: "meta",
  responses: { 200: () => z.object({ commands: z.array(command()) }) },
  cli: { noun: "meta", verb: "commands" },
});

export const dashboardLogin = route({
  method: "POST",
  path: "/dashboard/login",
  auth: "none",
  summary: "Exchange an admin key for the dashboard's session cookie.",
  tag: "dashboard",
  body: loginBody,
  responses: { 200: () => z.object({ expiresAt: z.number() }) },
  errors: ["API_KEY_INVALID", "FORBIDDEN", "UNAVAILABLE"],
});

export const dashboardLogout = route({
  method: "POST",
  path: "/dashboard/logout",
  auth: "none",
  summary: "End this browser's dashboard session.",
  tag: "dashboard",
  responses: { 204: null },
});

export const dashboardSession = route({
  method: "GET",
  path: "/dashboard/session",
  auth: "none",
  summary: "Report whether this browser is logged in, and whether a login is needed at all.",
  tag: "dashboard",
  responses: {
    200: () => z.object({ authenticated: z.boolean(), required: z.boolean(), version: z.string() }),
  },
});

export const dashboardPage = route({
  method: "GET",
  path: "/dashboard",
  auth: "admin",
  monitor: true,
  summary:
    "The dashboard page; without a session, the same page answers with status 401 and asks for the key.",
  tag: "dashboard",
  rawReply: "html",
  responses: { 200: null },
});

/** Scripts and styles hold no data, and the login page needs them. */
export const dashboardAsset = route({
  method: "GET",
  path: "/dashboard/*",
  auth: "none",
  summary: "The dashboard's scripts and styles.",
  tag: "dashboard",
  params: () => z.object({ "*": z.string() }),
  rawReply: "binary",
  responses: { 200: null, 304: null },
  errors: ["NOT_FOUND"],
});
