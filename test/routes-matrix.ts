import {
  ERROR_CODES,
  type ErrorCode,
  impliedErrors,
  type RouteDecl,
  routeList,
} from "@agent-gateway/contract";
import { type Answer, ask } from "./fixtures/http-server.ts";

/** A key of each kind. `plain` and `write` reach `agent` alone, `other` does not reach it. */
export interface MatrixKeys {
  plain: string;
  write: string;
  other: string;
  all: string;
  admin: string;
}
type Kind = "none" | "invalid" | keyof MatrixKeys;
const KINDS: readonly Kind[] = ["none", "invalid", "other", "plain", "write", "all", "admin"];
const LEVELS = { none: 0, invalid: 0, other: 0, plain: 0, write: 1, all: 0, admin: 2 } as const;
const NEEDED = { key: 0, write: 1, admin: 2 } as const;

type Route = RouteDecl & { name: string };
/** What a kind of key must get; `through` when the request must reach the validation and the handler. */
type Expected = { status: number; code: ErrorCode } | "through";

function expected(route: Route, kind: Kind, agentExists: boolean): Expected {
  const { auth } = route;
  const is = (code: ErrorCode) => ({ status: ERROR_CODES[code].status, code });
  if (auth !== "key" && auth !== "write" && auth !== "admin") return "through";
  if (kind === "none") return is("API_KEY_MISSING");
  if (kind === "invalid") return is("API_KEY_INVALID");
  if (route.monitor) return kind === "admin" ? "through" : is("API_KEY_MISSING");
  const hasAgent = route.path.includes(":agentId");
  if (hasAgent && !agentExists) return is("AGENT_NOT_FOUND");
  if (hasAgent && kind === "other") return is("FORBIDDEN");
  return LEVELS[kind] >= NEEDED[auth] ? "through" : is("FORBIDDEN");
}

function problem(route: Route, want: Expected, answer: Answer): string | undefined {
  const { status, headers, body } = answer;
  const id = headers["x-request-id"];
  if (typeof id !== "string") return "has no x-request-id";
  // A page says by itself that it is gone.
  const isPage = route.rawReply === "html" && route.responses[status] !== undefined;
  const isError = status >= 400 && status !== 416 && !isPage;
  if (isError && (typeof body.error !== "string" || body.request_id !== id)) return "is no error body";
  if (want !== "through") {
    return status === want.status && body.code === want.code
      ? undefined
      : `wanted ${want.status} ${want.code}`;
  }
  if (isError) {
    const declared = impliedErrors(route).includes(body.code as ErrorCode);
    const refused = ["API_KEY_MISSING", "FORBIDDEN", "INTERNAL"].includes(String(body.code));
    return declared && !refused ? undefined : "is an error that the declaration does not allow here";
  }
  const schema = route.responses[status];
  if (schema === undefined) return status === 308 ? undefined : "has a status that is not declared";
  const parsed = /json/.test(String(headers["content-type"])) ? schema?.().safeParse(body) : undefined;
  return parsed && !parsed.success ? `breaks its schema: ${parsed.error.message}` : undefined;
}

/**
 * Calls every declared route with every kind of key, for `agent` and for an agent that does not exist, and compares
 * the answers with the declarations. Returns one line for each answer that differs.
 */
export async function walkRoutes(url: string, agent: string, keys: MatrixKeys): Promise<string[]> {
  const problems: string[] = [];
  let invalid = 0;
  // What removes the agent comes last.
  const ordered = routeList.toSorted(
    (a, b) => Number(a.name === "deleteAgent") - Number(b.name === "deleteAgent"),
  );
  for (const route of ordered) {
    for (const agentId of route.path.includes(":agentId") ? ["nobody", agent] : [agent]) {
      // The feed streams without end unless it is told not to.
      const query = route.name === "events" ? "?stream=false" : "";
      const path = `${route.path.replace(":agentId", agentId).replace(/:\w+|\*$/g, "none")}${query}`;
      for (const kind of KINDS) {
        const key = kind === "none" ? undefined : kind === "invalid" ? "not-a-key" : keys[kind];
        // Twenty failures a minute are allowed to one address, so they come from many.
        const from = kind === "invalid" ? `127.0.${1 + Math.floor(invalid++ / 10)}.1` : undefined;
        const answer = await ask(url, route.method, path, {
          ...(key !== undefined && { key }),
          ...(from !== undefined && { from }),
          ...(route.body && { body: {} }),
        });
        const found = problem(route, expected(route, kind, agentId === agent), answer);
        if (found) {
          problems.push(
            `${route.method} ${path} with ${kind}: ${answer.status} ${answer.body.code ?? ""} ${found}`,
          );
        }
      }
    }
  }
  return problems;
}

/** Routes of `served` that no declaration knows, and declared ones that are not served; both as `METHOD path`. */
export function compareRoutes(served: readonly Pick<RouteDecl, "method" | "path">[]) {
  const name = ({ method, path }: { method: string; path: string }) => `${method} ${path}`;
  const declared = new Set(routeList.map(name));
  const present = new Set(served.map(name));
  return {
    undeclared: [...present].filter((route) => !declared.has(route)),
    unserved: [...declared].filter((route) => !present.has(route)),
  };
}
