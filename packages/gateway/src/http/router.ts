import { GatewayError, type Method, type WireForm } from "@agent-gateway/contract";
import type { Endpoint } from "./endpoint.ts";
import { checkPath } from "./query.ts";
import { createRouteTree } from "./route-tree.ts";

/** An endpoint with everything that can be worked out before a request arrives. */
export interface CompiledRoute extends Endpoint {
  /** True if the path names an agent, whose existence and access are checked. */
  readonly hasAgent: boolean;
  readonly needsKey: boolean;
}

export interface Match {
  readonly route: CompiledRoute;
  readonly params: Record<string, string | undefined>;
  /** Without the question mark. */
  readonly query: string;
}

const METHODS: readonly Method[] = ["GET", "POST", "PUT", "PATCH", "DELETE"];
/** Longest path segment; nothing has a longer name. */
const MAX_PARAM_CHARS = 4096;
/** What is also served below the path of the public URL. */
const PUBLISHED = ["/oauth/", "/shared/", "/webhooks/", "/cli/"];
const HAS_LEVEL = new Set(["key", "write", "admin"]);

export interface Router {
  /** @throws GatewayError `NOT_FOUND`, `METHOD_NOT_ALLOWED` with `Allow`, `INVALID_REQUEST` */
  find(method: string, url: string): Match;
  /** Form of the errors at an address, whatever the method and however the request ends. */
  form(url: string): WireForm | undefined;
}

/**
 * Finds the endpoint for a request line; static segments win over parameters. `HEAD` is handled like `GET`, except on
 * event streams, where it would wait for the end.
 * @param publicPath path of the public URL (`/gateway`)
 */
export function createRouter(endpoints: readonly Endpoint[], publicPath?: string): Router {
  const tree = createRouteTree<CompiledRoute>(MAX_PARAM_CHARS);
  for (const endpoint of endpoints) {
    const { method, path, auth } = endpoint.decl;
    const route: CompiledRoute = {
      ...endpoint,
      hasAgent: path.split("/").includes(":agentId"),
      needsKey: HAS_LEVEL.has(auth),
    };
    tree.add(method, path, route);
  }

  const find = (method: Method, path: string) => {
    const found = tree.find(method, path);
    return found && { route: found.value, params: found.params };
  };

  const missing = (path: string): GatewayError => {
    const allowed: string[] = METHODS.filter((method) => find(method, path));
    if (allowed.length === 0) return new GatewayError("NOT_FOUND");
    if (allowed.includes("GET") && find("GET", path)?.route.decl.rawReply !== "sse") allowed.push("HEAD");
    return new GatewayError("METHOD_NOT_ALLOWED", undefined, { headers: { allow: allowed.join(", ") } });
  };

  const published = publicPath ? PUBLISHED.map((prefix) => `${publicPath}${prefix}`) : [];

  const split = (url: string): { path: string; query: string } => {
    const mark = url.indexOf("?");
    const asked = mark < 0 ? url : url.slice(0, mark);
    const outside = published.some((prefix) => asked.startsWith(prefix));
    const path = outside ? asked.slice((publicPath as string).length) : asked;
    checkPath(path);
    return { path, query: mark < 0 ? "" : url.slice(mark + 1) };
  };

  return {
    find(method, url) {
      const { path, query } = split(url);
      const head = method === "HEAD";
      const found = find((head ? "GET" : method) as Method, path);
      if (!found || (head && found.route.decl.rawReply === "sse")) throw missing(path);
      return { ...found, query };
    },
    form(url) {
      try {
        const { path } = split(url);
        for (const method of METHODS) {
          const form = find(method, path)?.route.decl.form;
          if (form) return form;
        }
      } catch {
        // An address that cannot be read belongs to no route.
      }
      return undefined;
    },
  };
}
