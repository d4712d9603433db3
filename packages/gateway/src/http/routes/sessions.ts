import { GatewayError, routes } from "@agent-gateway/contract";
import type { AgentConfig, Config } from "../../config/index.ts";
import type { Clock } from "../../lib/clock.ts";
import { COMMANDS, type Sessions, type Turn } from "../../sessions/index.ts";
import { type Endpoint, endpoint, json } from "../endpoint.ts";
import { streamTurn } from "../sse.ts";

export interface SessionRouteDeps {
  sessions: Sessions;
  requireAgent(agentId: string): AgentConfig;
  config: () => Config;
  clock: Clock;
  onReader(delta: 1 | -1): void;
  /** Takes one of the key's event stream slots. */
  takeStream(keyId: string): Disposable;
}

export function sessionRoutes(deps: SessionRouteDeps): Endpoint[] {
  const { sessions } = deps;
  const rowOf = async (agentId: string, chatId: string, sessionId: string) =>
    sessions.require(deps.requireAgent(agentId).id, `api-${chatId}`, sessionId);

  return [
    endpoint(routes.listSessions, async ({ params, query }) =>
      json({
        sessions: (await sessions.list(params.agentId, `api-${query.chat_id}`)).map((row) => ({
          id: row.uuid,
          name: row.name,
          createdAt: row.created_at,
          lastActivity: row.last_activity,
        })),
      }),
    ),
    endpoint(routes.createSession, async ({ params, body }) =>
      json(await sessions.create(deps.requireAgent(params.agentId), `api-${body.chat_id}`, body), 201),
    ),
    endpoint(routes.sessionInfo, async ({ params, query }) =>
      json(sessions.info(await rowOf(params.agentId, query.chat_id, params.sessionId))),
    ),
    endpoint(routes.renameSession, async ({ params, body }) => {
      const row = await rowOf(params.agentId, body.chat_id, params.sessionId);
      const name = (body.session_name ?? body.sessionName)!.trim();
      await sessions.rename(row, name);
      return json({ sessionId: row.uuid, sessionName: name });
    }),
    endpoint(routes.deleteSession, async ({ params, query }) => {
      await sessions.remove(await rowOf(params.agentId, query.chat_id, params.sessionId));
      return { status: 204, empty: true };
    }),
    endpoint(routes.clearSession, async ({ params, body }) => {
      const row = await rowOf(params.agentId, body.chat_id, params.sessionId);
      await sessions.clear(row);
      return json({ cleared: true as const, sessionId: row.uuid });
    }),
    endpoint(routes.compactSession, async ({ params, body, principal }) => {
      const row = await rowOf(params.agentId, body.chat_id, params.sessionId);
      return json(await sessions.compact(deps.requireAgent(params.agentId), row, principal.keyId));
    }),
    endpoint(routes.stopSession, async ({ params, body }) =>
      json({ stopped: await sessions.stop(await rowOf(params.agentId, body.chat_id, params.sessionId)) }),
    ),
    endpoint(routes.restartSession, async ({ params, body }) => {
      const row = await rowOf(params.agentId, body.chat_id, params.sessionId);
      await sessions.restart(deps.requireAgent(params.agentId), row);
      return json({ restarting: true as const });
    }),
    endpoint(routes.streamSession, async ({ params, query, principal, req, res }) => {
      const header = req.headers["last-event-id"];
      const afterSeq = query.after_seq ?? cursorOf(typeof header === "string" ? header : undefined);
      if (afterSeq !== undefined && query.request_id === undefined) {
        throw new GatewayError("INVALID_REQUEST", "A cursor requires the request_id of its turn.", {
          details: [{ path: "request_id", message: "is required with after_seq or Last-Event-ID" }],
        });
      }
      const row = await rowOf(params.agentId, query.chat_id, params.sessionId);
      const turn = pickTurn(sessions, row.uuid, query.request_id);
      const after = afterSeq ?? 0;
      if (after > turn.log.lastSeq) throw new GatewayError("CURSOR_AHEAD");
      // Without a cursor, the reader gets whatever is kept, wherever that begins.
      const cursor = turn.log.cursorAt(afterSeq === undefined ? turn.log.firstSeq - 1 : after);
      if (!cursor) throw new GatewayError("TURN_TRUNCATED");
      using _place = deps.takeStream(principal.id);
      const { keepaliveMs } = deps.config().gateway.turns;
      await streamTurn(res, turn.log, { clock: deps.clock, keepaliveMs, cursor, onReader: deps.onReader });
      return { handled: true };
    }),
    endpoint(routes.commands, () => json({ commands: COMMANDS.map((command) => ({ ...command })) })),
  ];
}

function cursorOf(header: string | undefined): number | undefined {
  if (header === undefined || header === "") return undefined;
  if (!/^\d{1,15}$/.test(header)) {
    throw new GatewayError("INVALID_REQUEST", "Last-Event-ID must be an integer.", {
      details: [{ path: "last-event-id", message: "must be an integer" }],
    });
  }
  return Number(header);
}

/** The running turn, else the newest one that is kept; or the one with `requestId`. */
function pickTurn(sessions: Sessions, sessionId: string, requestId: string | undefined): Turn {
  const running = sessions.running(sessionId);
  const all = [...sessions.kept(sessionId), ...(running ? [running] : [])];
  if (all.length === 0) throw new GatewayError("TURN_GONE");
  const turn =
    requestId === undefined ? all.at(-1) : all.find((candidate) => candidate.requestId === requestId);
  if (!turn) throw new GatewayError("TURN_MISMATCH");
  return turn;
}
