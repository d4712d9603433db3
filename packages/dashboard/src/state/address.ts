/** Where the page is; the address after `#` is its only store, so a reload and a bookmark find the way back. */
export type Route =
  | { view: "chat"; agentId: string | undefined; chatId: string | undefined; sessionId: string | undefined }
  | { view: "history"; agentId: string | undefined; chatId: string | undefined; query: string }
  | { view: "channels"; agentId: string | undefined }
  /** Any other page, by its id, with the parts that follow it. An id that no page has stands for the first page. */
  | { view: "page"; page: string; path: readonly string[] };

/** Pages that had another address once. */
const FORMER = new Map([["status", "system"]]);

const part = (text: string | undefined) => {
  try {
    return text ? decodeURIComponent(text) : undefined;
  } catch {
    return undefined;
  }
};

/**
 * Reads `#/chat/<agent>/<chat>/<session>`, `#/history/<agent>/<chat>?q=…`, `#/channels/<agent>` and, of all other pages,
 * `#/<page>/<part>/…`.
 */
export function parseHash(hash: string): Route {
  const [path = "", search = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [view = "", ...parts] = path.split("/");
  const [agentId, chatId, sessionId] = parts.map(part);
  switch (view) {
    case "chat":
      return { view, agentId, chatId, sessionId };
    case "history":
      return { view, agentId, chatId, query: new URLSearchParams(search).get("q") ?? "" };
    case "channels":
      return { view, agentId };
    default: {
      const texts = parts.map(part);
      const end = texts.indexOf(undefined);
      const known = (end < 0 ? texts : texts.slice(0, end)) as string[];
      return { view: "page", page: FORMER.get(view) ?? part(view) ?? "", path: known };
    }
  }
}

/** The address of a route; inverse of `parseHash`. */
export function hashOf(route: Route): string {
  const parts: (string | undefined)[] =
    route.view === "page"
      ? [route.page, ...route.path]
      : [
          route.view,
          route.agentId,
          route.view === "channels" ? undefined : route.chatId,
          route.view === "chat" ? route.sessionId : undefined,
        ];
  const end = parts.indexOf(undefined);
  const path = parts.slice(0, end < 0 ? parts.length : end).map((text) => encodeURIComponent(text as string));
  const query = route.view === "history" && route.query ? `?${new URLSearchParams({ q: route.query })}` : "";
  return `#/${path.join("/")}${query}`;
}

/** Id of the page that a route shows. */
export const pageOf = (route: Route): string => (route.view === "page" ? route.page : route.view);

/** The route of a page that is neither the chat nor the history nor the channels. */
export const pageRoute = (page: string, ...path: string[]): Route => ({ view: "page", page, path });
