import {
  ERROR_CODES,
  impliedErrors,
  type RawReply,
  type RouteDecl,
  routes,
  type WireForm,
} from "@agent-gateway/contract";
import * as z from "zod";
import { SESSION_COOKIE } from "../auth/index.ts";

type Json = Record<string, unknown>;

const MEDIA: Record<RawReply, Json> = {
  sse: {
    "text/event-stream": {
      schema: {
        type: "string",
        description:
          "Frames `id: <seq>` and `data: <event as JSON>`, comment lines as keep-alive; at the end of a turn `data: [DONE]`.",
      },
    },
  },
  ndjson: {
    "application/x-ndjson": { schema: { type: "string", description: "One JSON object per line." } },
  },
  stream: { "*/*": { schema: { type: "string", format: "binary" } } },
  binary: { "*/*": { schema: { type: "string", format: "binary" } } },
  text: { "text/plain": { schema: { type: "string" } } },
  html: { "text/html": { schema: { type: "string" } } },
};
const SECURITY = [{ apiKey: [] }, { bearer: [] }, { dashboard: [] }];
const NEEDS_KEY = new Set(["key", "write", "admin"]);
const ERROR_NAMES: Record<WireForm, string> = { gateway: "Error", openai: "OpenAiError" };

/** A schema as it appears on the wire: before transformations, open to fields that are added later. */
function schemaOf(type: z.ZodType): Json {
  const {
    $schema: _,
    "~standard": __,
    ...schema
  } = z.toJSONSchema(type, {
    io: "input",
    unrepresentable: "any",
    override({ jsonSchema }) {
      // A contract keyword: the code of the error that an invalid field causes.
      const { code } = jsonSchema as { code?: unknown };
      if (code === undefined) return;
      delete jsonSchema.code;
      jsonSchema["x-error-code"] = code;
    },
  }) as Json;
  return schema;
}

function parametersOf({ params, query }: RouteDecl): Json[] {
  const found: Json[] = [];
  const add = (type: (() => z.ZodType) | undefined, place: "path" | "query") => {
    if (!type) return;
    const { properties = {}, required = [] } = schemaOf(type()) as {
      properties?: Record<string, Json>;
      required?: string[];
    };
    for (const [name, schema] of Object.entries(properties)) {
      found.push({
        name: name === "*" ? "path" : name,
        in: place,
        required: place === "path" || required.includes(name),
        schema,
      });
    }
  };
  add(params, "path");
  add(query, "query");
  return found;
}

function requestBodyOf({ body, bodyOptional, rawBody }: RouteDecl): Json | undefined {
  if (rawBody) return { required: rawBody !== "stream", content: MEDIA[rawBody] };
  if (!body) return undefined;
  return { required: !bodyOptional, content: { "application/json": { schema: schemaOf(body()) } } };
}

function contentOf(decl: RouteDecl, status: number, type: (() => z.ZodType) | null): Json | undefined {
  const raw = decl.rawReply && (status === 200 || status === 206) ? MEDIA[decl.rawReply] : {};
  const content = { ...(type && { "application/json": { schema: schemaOf(type()) } }), ...raw };
  return Object.keys(content).length > 0 ? content : undefined;
}

function responsesOf(decl: RouteDecl): Json {
  const responses: Record<string, Json> = {};
  for (const [status, type] of Object.entries(decl.responses)) {
    const content = contentOf(decl, Number(status), type);
    responses[status] = { description: DESCRIPTIONS[status] ?? "Done.", ...(content && { content }) };
  }
  const byStatus = Map.groupBy(impliedErrors(decl), (code) => ERROR_CODES[code].status);
  for (const [status, codes] of byStatus) {
    responses[String(status)] = {
      description: codes.map((code) => `\`${code}\`: ${ERROR_CODES[code].meaning}`).join(" "),
      ...(status === 429 && {
        headers: { "Retry-After": { description: "Seconds to wait.", schema: { type: "integer" } } },
      }),
      content: {
        "application/json": {
          schema: {
            allOf: [
              { $ref: `#/components/schemas/${ERROR_NAMES[decl.form ?? "gateway"]}` },
              { properties: { code: { enum: codes } } },
            ],
          },
        },
      },
    };
  }
  return responses;
}

const DESCRIPTIONS: Readonly<Record<string, string>> = {
  201: "Created.",
  204: "Done; no content.",
  206: "The requested byte range.",
  401: "The sender's proof of identity is missing or wrong.",
  304: "The client's copy is still valid.",
  416: "The byte range lies outside the file.",
};

/** The path in OpenAPI notation: `{name}`, and `{path}` for the rest of the path. */
const pathOf = (path: string) => path.replace(/:(\w+)/g, "{$1}").replace(/\*$/, "{path}");

/** OpenAPI 3.1 of the given declarations (https://spec.openapis.org/oas/v3.1.1.html). */
export function openApi(served: readonly RouteDecl[], version: string): Json {
  const names = new Map<RouteDecl, string>(Object.entries(routes).map(([name, decl]) => [decl, name]));
  const paths: Record<string, Json> = {};
  for (const decl of served) {
    const parameters = parametersOf(decl);
    const requestBody = requestBodyOf(decl);
    const path = pathOf(decl.path);
    paths[path] ??= {};
    paths[path][decl.method.toLowerCase()] = {
      operationId: names.get(decl),
      summary: decl.summary,
      tags: [decl.tag],
      security: NEEDS_KEY.has(decl.auth) ? SECURITY : [],
      ...(NEEDS_KEY.has(decl.auth) && { "x-auth-level": decl.auth }),
      ...(parameters.length > 0 && { parameters }),
      ...(requestBody && { requestBody }),
      responses: responsesOf(decl),
    };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Agent Gateway",
      version,
      description: "Conversational agents over HTTP.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/" }],
    tags: [...new Set(served.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    components: {
      schemas: {
        Error: ERROR_SCHEMA,
        ...(served.some(({ form }) => form === "openai") && { OpenAiError: OPENAI_ERROR_SCHEMA }),
      },
      securitySchemes: SECURITY_SCHEMES,
    },
  };
}

const ERROR_SCHEMA = {
  type: "object",
  required: ["error", "code", "request_id"],
  properties: {
    error: { type: "string", description: "One sentence." },
    code: { type: "string", enum: Object.keys(ERROR_CODES) },
    request_id: { type: "string", description: "Also in the `x-request-id` header and the log." },
    details: {
      type: "array",
      items: {
        type: "object",
        required: ["path", "message"],
        properties: { path: { type: "string" }, message: { type: "string" } },
      },
    },
  },
};

/** https://platform.openai.com/docs/guides/error-codes */
const OPENAI_ERROR_SCHEMA = {
  type: "object",
  required: ["error", "code", "request_id"],
  properties: {
    ...ERROR_SCHEMA.properties,
    error: {
      type: "object",
      required: ["message", "type", "param", "code"],
      properties: {
        message: { type: "string", description: "One sentence." },
        type: { type: "string" },
        param: { type: ["string", "null"], description: "The field that is wrong." },
        code: { type: "string", enum: Object.keys(ERROR_CODES) },
      },
    },
  },
};

const SECURITY_SCHEMES = {
  apiKey: { type: "apiKey", in: "header", name: "X-Api-Key" },
  bearer: { type: "http", scheme: "bearer" },
  dashboard: {
    type: "apiKey",
    in: "cookie",
    name: SESSION_COOKIE,
    description: "Set by a login at /dashboard.",
  },
};
