import { GatewayError, type RouteDecl, route, routeList, routes } from "@agent-gateway/contract";
import { describe, expect, it } from "vitest";
import { type Endpoint, endpoint } from "../../../packages/gateway/src/http/index.ts";
import { startTestServer } from "../../fixtures/http-server.ts";
import { compareRoutes, walkRoutes } from "../../routes-matrix.ts";

/** Every declared route with a handler that finds nothing. */
const own = new Set(["meta", "dashboard"]);
const empty = (decls: readonly RouteDecl[]): Endpoint[] =>
  decls
    .filter(({ tag, path }) => (!own.has(tag) || path === "/api/v1/commands") && path !== "/health")
    .map((decl) => ({
      decl,
      handler: () => {
        throw new GatewayError("RATE_LIMITED");
      },
    }));
const keys = {
  plain: "the-plain-key",
  write: "the-write-key",
  other: "the-other-key",
  all: "the-all-key",
  admin: "the-admin-key",
};

describe("every route with every kind of key", () => {
  it("answers as declared [AUTH-1]", async () => {
    await using server = await startTestServer({ endpoints: empty(routeList) });
    expect(await walkRoutes(server.url, "assistant", keys)).toEqual([]);
  });

  it("is told apart from one that answers otherwise", async () => {
    const lax = { ...routes.exportHistory, auth: "key" as const };
    const rest = empty(routeList).filter(({ decl }) => decl.path !== lax.path);
    const leaky = endpoint(lax, () => ({ status: 200, headers: {}, bytes: "" }));
    await using server = await startTestServer({ endpoints: [...rest, leaky] });
    const problems = await walkRoutes(server.url, "assistant", keys);
    expect(problems.map((line) => line.split(":")[0])).toEqual([
      "GET /api/v1/agents/assistant/history/export with plain",
      "GET /api/v1/agents/assistant/history/export with write",
      "GET /api/v1/agents/assistant/history/export with all",
    ]);
  });

  it("an undeclared and an unserved route are both found [META-1]", () => {
    const extra = route({
      method: "GET",
      path: "/api/v1/extra",
      auth: "key",
      summary: "Not declared.",
      tag: "meta",
      responses: { 200: null },
    });
    const [first, ...rest] = routeList;
    expect(compareRoutes([...rest, extra])).toEqual({
      undeclared: ["GET /api/v1/extra"],
      unserved: [`${first?.method} ${first?.path}`],
    });
    expect(compareRoutes(routeList)).toEqual({ undeclared: [], unserved: [] });
  });
});
