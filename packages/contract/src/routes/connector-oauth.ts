import * as z from "zod";
import { lazy } from "../lazy.ts";
import { route } from "../route.ts";

export const startConnectorOAuth = route({
  method: "POST",
  path: "/api/v1/connectors/custom/:id/oauth/start",
  auth: "admin",
  summary: "Begin the sign-in to a connector; open the address that it answers in a browser.",
  tag: "connectors",
  params: lazy(() => z.object({ id: z.string() })),
  body: lazy(() => z.strictObject({})),
  bodyOptional: true,
  responses: { 200: lazy(() => z.object({ authorizeUrl: z.string() })) },
  errors: ["NOT_FOUND", "UNAVAILABLE", "UPSTREAM_UNAVAILABLE"],
  cli: { noun: "connectors", verb: "login", args: ["id"] },
});

export const connectorOAuthCallback = route({
  method: "GET",
  path: "/oauth/mcp/callback",
  auth: "none",
  summary: "Where a connector's authorization server sends the browser back to: a page with the outcome.",
  tag: "connectors",
  rawReply: "html",
  responses: { 200: null, 302: null, 400: null, 409: null, 502: null },
});
