/** Where the page is; the address after `#` is its only store, so a reload and a bookmark find the way back. */
export type Route =
  | { view: "chat"; agentId: string | undefined; chatId: string | undefined; sessionId: string | undefined }
  | { view: "history"; agentId: string | undefined; chatId: string | undefined; query: string }
  | { view: "channels"; agentId: string | undefined }
  | { view: "usage" }
  | { view: "status" };

const part = (text: string | undefined) => {
  try {
    return text ? decodeURIComponent(text) : undefined;
  } catch {
    return undefined;
  }
};

/** Reads `#/chat/<agent>/<chat>/<session>`, `#/history/<agent>/<chat>?q=…`, `#/channels/<agent>`, `#/usage` and `#/status`; all else is the chat. */
export function parseHash(hash: string): Route {
  const [path = "", search = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [view, agent, chat, session] = path.split("/");
  const place = { agentId: part(agent), chatId: part(chat) };
  if (view === "status" || view === "usage") return { view };
  if (view === "channels") return { view, agentId: place.agentId };
  if (view === "history") return { view, ...place, query: new URLSearchParams(search).get("q") ?? "" };
  return { view: "chat", ...place, sessionId: part(session) };
}

/** The address of a route; inverse of `parseHash`. */
export function hashOf(route: Route): string {
  if (route.view === "status" || route.view === "usage") return `#/${route.view}`;
  const parts = [
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
