import { route } from "../route.ts";
import { feedPage, feedQuery } from "../schemas/feed.ts";

export const events = route({
  method: "GET",
  path: "/api/v1/events",
  auth: "key",
  summary: "Follow what happens, or list it with `stream=false`.",
  tag: "events",
  query: feedQuery,
  rawReply: "sse",
  responses: { 200: feedPage },
  errors: ["AGENT_NOT_FOUND", "EVENTS_GONE", "CURSOR_AHEAD"],
  cli: {
    noun: "events",
    verb: "list",
    query: { stream: "false" },
    summary: "List what happened, oldest first.",
  },
});
