import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Validator } from "@seriousme/openapi-schema-validator";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Gateway, KEYS, root, startGateway } from "./harness.ts";
import { ownFolder, runProgram } from "./program.ts";

const tools = join(root, "test/openapi/node_modules");

/** A program that talks to the gateway by the generated types alone, and prints what it found. */
const ROUND_TRIP = `
import createClient from "openapi-fetch";
import type { paths } from "./gateway.js";

const [, , baseUrl, key] = process.argv as [string, string, string, string];
const client = createClient<paths>({ baseUrl, headers: { "X-Api-Key": key } });
const inAgent = { path: { agentId: "assistant" } };

const health = await client.GET("/health");
const created = await client.POST("/api/v1/agents/{agentId}/sessions", {
  params: inAgent,
  body: { chat_id: "typed", name: "By types" },
});
if (!created.data) throw new Error(created.error.error);
const sessionId: string = created.data.sessionId;
const sent = await client.POST("/api/v1/agents/{agentId}/messages", {
  params: inAgent,
  body: { message: "hello", chat_id: "typed", session_id: sessionId },
});
const page = await client.GET("/api/v1/agents/{agentId}/chats/{chatId}/messages", {
  params: { path: { agentId: "assistant", chatId: "api-typed" }, query: { limit: 10, order: "asc" } },
});
const contents: string[] = (page.data?.messages ?? []).map(({ content }) => content);
const removed = await client.DELETE("/api/v1/agents/{agentId}/sessions/{sessionId}", {
  params: { path: { agentId: "assistant", sessionId }, query: { chat_id: "typed" } },
});
const gone = await client.GET("/api/v1/agents/{agentId}/sessions/{sessionId}/info", {
  params: { path: { agentId: "assistant", sessionId }, query: { chat_id: "typed" } },
});
const code: string | undefined = gone.error?.code;
console.log(JSON.stringify({ health: health.data, sent: sent.data, contents, removed: removed.response.status, code }));
`;

/** Each line must be an error to the compiler. */
const MISUSE = `
import createClient from "openapi-fetch";
import type { paths } from "./gateway.js";

const client = createClient<paths>({ baseUrl: "" });
const params = { path: { agentId: "assistant" } };
// @ts-expect-error an unknown route
await client.GET("/api/v1/nothing");
// @ts-expect-error the message is missing
await client.POST("/api/v1/agents/{agentId}/messages", { params, body: { chat_id: "me" } });
// @ts-expect-error chat_id is missing
await client.GET("/api/v1/agents/{agentId}/sessions", { params });
// @ts-expect-error a message is text
await client.POST("/api/v1/agents/{agentId}/messages", { params, body: { message: 1, chat_id: "me" } });
`;

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway[Symbol.asyncDispose]());

describe("/api/v1/openapi.json", () => {
  it("needs no key and is valid OpenAPI 3.1 that names every served route [META-1, META-2]", async () => {
    const { status, body } = await gateway.json("GET", "/api/v1/openapi.json", { key: null });
    expect(status).toBe(200);
    const validator = new Validator();
    const { valid, errors } = await validator.validate(structuredClone(body));
    expect(errors).toBeUndefined();
    expect({ valid, version: validator.version }).toEqual({ valid: true, version: "3.1" });

    const described = Object.entries(body.paths as Record<string, object>).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replace(/\{\w+\}/g, "{}")}`),
    );
    const meta = await gateway.json("GET", "/api/v1/_meta/routes", { key: KEYS.plain });
    const served = meta.body.routes as Array<{ method: string; path: string; auth: string; summary: string }>;
    const name = ({ method, path }: { method: string; path: string }) =>
      `${method} ${path.replace(/:\w+|\*/g, "{}")}`;
    expect(described.sort()).toEqual(served.map(name).sort());
    for (const { auth, summary } of served) {
      expect(["none", "key", "write", "admin", "ticket", "signature"]).toContain(auth);
      expect(summary).toMatch(/\S/);
    }
  });

  it("makes a client that type-checks, refuses misuse and works [META-2]", async () => {
    const folder = await ownFolder();
    const types = join(folder, "gateway.d.ts");
    const generated = await runProgram([
      process.execPath,
      join(tools, "openapi-typescript/bin/cli.js"),
      `${gateway.url}/api/v1/openapi.json`,
      "--output",
      types,
    ]);
    expect(generated.code, generated.stderr).toBe(0);
    await writeFile(join(folder, "round-trip.ts"), ROUND_TRIP);
    await writeFile(join(folder, "misuse.ts"), MISUSE);
    await writeFile(
      join(folder, "tsconfig.json"),
      JSON.stringify({
        compilerOptions: {
          strict: true,
          target: "es2024",
          module: "nodenext",
          outDir: "out",
          types: ["node"],
        },
        include: ["*.ts"],
      }),
    );
    await writeFile(join(folder, "package.json"), '{ "type": "module" }');
    await mkdir(join(folder, "node_modules/@types"), { recursive: true });
    for (const name of ["openapi-fetch", "@types/node"]) {
      await symlink(join(root, "node_modules", name), join(folder, "node_modules", name));
    }
    const checked = await runProgram([process.execPath, join(tools, "typescript/bin/tsc"), "-p", folder]);
    expect([checked.code, checked.stdout]).toEqual([0, ""]);

    const run = await runProgram([
      process.execPath,
      join(folder, "out/round-trip.js"),
      gateway.url,
      KEYS.plain,
    ]);
    expect(run.stderr).toBe("");
    expect(JSON.parse(run.stdout)).toEqual({
      health: { status: "ok" },
      sent: expect.objectContaining({ agent_id: "assistant", response: "Echo[1]: hello" }),
      contents: ["hello", "Echo[1]: hello"],
      removed: 204,
      code: "SESSION_NOT_FOUND",
    });
  });
});
