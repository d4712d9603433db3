import { GatewayError, routes } from "@agent-gateway/contract";
import type { History } from "../../history/index.ts";
import { type Endpoint, endpoint, json } from "../endpoint.ts";

/** No place is a whole day east or west of UTC. */
const MAX_OFFSET_MINUTES = 1440;

/** Routes of the history room. `agents` are the ones running now. */
export function historyRoutes(deps: {
  history: History;
  agents: () => readonly { id: string; description: string }[];
}): Endpoint[] {
  const { history } = deps;
  return [
    endpoint(routes.allSessions, async () => {
      const agents = [];
      // One after another: many large stores must not be read at the same time.
      for (const { id, description } of deps.agents()) {
        agents.push({ agentId: id, description, sessions: await history.sessions(id) });
      }
      return json({ agents });
    }),
    endpoint(routes.listChats, async ({ params }) => json({ chats: await history.chats(params.agentId) })),
    endpoint(routes.listChatSessions, async ({ params }) =>
      json({ sessions: await history.chatSessions(params.agentId, params.chatId) }),
    ),
    endpoint(routes.listMessages, async (context) =>
      json(await history.page({ ...context.params, ...context.query }, context)),
    ),
    endpoint(routes.searchMessages, async (context) =>
      json(await history.search({ ...context.params, ...context.query }, context)),
    ),
    endpoint(routes.activeDays, async ({ params, query }) => {
      if (Math.abs(query.tz_offset ?? 0) > MAX_OFFSET_MINUTES) {
        throw new GatewayError("INVALID_REQUEST", "tz_offset must be within a day of UTC.", {
          details: [{ path: "tz_offset", message: "must be between -1440 and 1440" }],
        });
      }
      return json({ days: await history.activeDays({ ...params, ...query }) });
    }),
    endpoint(routes.exportHistory, async ({ params, query, signal }) => ({
      status: 200,
      headers: {
        "Content-Type": "application/x-ndjson; charset=utf-8",
        "Content-Disposition": `attachment; filename="${params.agentId}.ndjson"`,
      },
      stream: await history.export(params.agentId, query.chat_id, signal),
    })),
    endpoint(routes.importHistory, async ({ params, req, signal, confirm }) => {
      if ((req.headers["content-encoding"] ?? "identity").toLowerCase() !== "identity") {
        throw new GatewayError("UNSUPPORTED_MEDIA_TYPE", "Compressed bodies are not accepted.");
      }
      return json(await history.import(params.agentId, req, { signal, confirm }));
    }),
  ];
}
