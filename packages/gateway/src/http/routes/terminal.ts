import { GatewayError, ptyStream, routes } from "@agent-gateway/contract";
import { reaches } from "../../auth/index.ts";
import { NOT_HERE, NOT_HERE_HEADERS } from "../../lib/not-here.ts";
import type { SessionsPort, Terminal } from "../../terminal/index.ts";
import { type Endpoint, endpoint, json } from "../endpoint.ts";
import type { SocketEndpoint } from "../upgrade.ts";

export interface TerminalRouteDeps {
  terminal: Terminal;
  sessions: Pick<SessionsPort, "find">;
  agentExists(agentId: string): boolean;
  /** False for an agent of another gateway. */
  serves(agentId: string): boolean;
}

/** Terminals of sessions: a ticket for the socket, and the screen as text. */
export function terminalRoutes({ terminal, sessions, agentExists, serves }: TerminalRouteDeps): Endpoint[] {
  const requireHere = (agentId: string) => {
    if (!serves(agentId)) throw new GatewayError("UNAVAILABLE", NOT_HERE, { headers: NOT_HERE_HEADERS });
  };
  const outOfReach = () => new GatewayError("FORBIDDEN", "This key has no access to this agent.");
  return [
    endpoint(routes.ptyStreamTicket, async ({ body, principal }) => {
      const { agentId, sessionId } = body;
      if (!agentExists(agentId)) throw new GatewayError("AGENT_NOT_FOUND");
      if (!reaches(principal, agentId)) throw outOfReach();
      requireHere(agentId);
      return json(await (await terminal.room()).ticket(principal, agentId, sessionId));
    }),
    endpoint(routes.sessionScreen, async ({ params, principal }) => {
      const session = await sessions.find(params.sessionId);
      if (!session || !agentExists(session.agentId)) {
        throw new GatewayError("SESSION_NOT_FOUND", "No session has this id.");
      }
      if (!reaches(principal, session.agentId)) throw outOfReach();
      requireHere(session.agentId);
      return json(await (await terminal.room()).screen(params.sessionId));
    }),
  ];
}

/** The WebSocket of a session's terminal. */
export function terminalSocket({ tickets, room }: Terminal): SocketEndpoint {
  return {
    decl: ptyStream,
    tickets,
    requireSession: async (agentId, sessionId) => (await room()).requireSession(agentId, sessionId),
    open(socket, { sessionId }) {
      // What the viewer types meanwhile waits.
      socket.pause();
      void room().then(
        ({ serve }) => serve(socket, sessionId),
        () => socket.terminate(),
      );
    },
  };
}
