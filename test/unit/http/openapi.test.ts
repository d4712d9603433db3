import { type RouteDecl, routeList, routes } from "@agent-gateway/contract";
import { Validator } from "@seriousme/openapi-schema-validator";
import { describe, expect, it } from "vitest";
import { openApi } from "../../../packages/gateway/src/http/openapi.ts";
import { startTestServer } from "../../fixtures/http-server.ts";

type Operation = {
  operationId: string;
  parameters?: { name: string; in: string; required: boolean }[];
  security: unknown[];
  requestBody?: { content: Record<string, unknown> };
  responses: Record<string, { description: string; content?: Record<string, unknown> }>;
};

const decls = Object.values(routes) as RouteDecl[];
const document = openApi(decls, "1.2.3") as { paths: Record<string, Record<string, Operation>> };

describe("the OpenAPI document", () => {
  it("is valid OpenAPI 3.1 [META-2]", async () => {
    const validator = new Validator();
    const { valid, errors } = await validator.validate(structuredClone(document));
    expect(errors).toBeUndefined();
    expect({ valid, version: validator.version }).toEqual({ valid: true, version: "3.1" });
  });

  it("has every declared route, with its parameters, bodies and errors [META-2]", () => {
    const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));
    expect(operations.map(({ operationId }) => operationId).sort()).toEqual(
      routeList.map(({ name }) => name).sort(),
    );
    for (const [path, methods] of Object.entries(document.paths)) {
      const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      for (const { parameters = [] } of Object.values(methods)) {
        expect(parameters.filter((p) => p.in === "path").map(({ name }) => name)).toEqual(names);
      }
    }
    const send = document.paths["/api/v1/agents/{agentId}/messages"]?.post as Operation;
    expect(Object.keys(send.responses["200"]?.content ?? {})).toEqual([
      "application/json",
      "text/event-stream",
    ]);
    expect(send.responses["409"]?.description).toContain("SESSION_BUSY");
    expect(send.responses["415"]?.description).toContain("UNSUPPORTED_MEDIA_TYPE");
    expect(send.security).toHaveLength(3);
    expect(document.paths["/health"]?.get?.security).toEqual([]);
    const media = document.paths["/api/v1/agents/{agentId}/media/{path}"]?.get as Operation;
    expect(Object.keys(media.responses["206"]?.content ?? {})).toEqual(["*/*"]);
    expect(JSON.stringify(document)).not.toMatch(/"(\$schema|~standard)"/);
  });

  it("is served without a key, and the routes' list with one [META-1]", async () => {
    await using server = await startTestServer();
    const open = await server.ask("GET", "/api/v1/openapi.json");
    expect(open.headers["content-type"]).toContain("application/json");
    expect(open.body).toMatchObject({ openapi: "3.1.0", info: { version: "1.2.3" } });
    const { body } = await server.ask("GET", "/api/v1/_meta/routes", { key: "the-plain-key" });
    expect((body.routes as object[]).length).toBe(server.endpoints.length);
    expect(body.routes).toContainEqual({
      method: "GET",
      path: "/health",
      auth: "none",
      summary: "Liveness.",
      tag: "monitoring",
    });
  });
});
