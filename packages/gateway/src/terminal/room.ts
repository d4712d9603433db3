import { GatewayError } from "@agent-gateway/contract";
import type { WebSocket } from "ws";
import type { Principal, TicketHolder, Tickets } from "../auth/index.ts";
import type { AgentConfig } from "../config/index.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { type ChatMessage, createChatCommand, type Said } from "./command.ts";
import { createTakenOnce, readInitData } from "./init-data.ts";
import { createLiveScreens } from "./live.ts";
import { type Asker, createPairings, type Pairing } from "./pairings.ts";
import type { SessionsPort, TerminalSession } from "./ports.ts";

export interface TerminalDeps {
  sessions: SessionsPort;
  tickets: Tickets;
  /** A configured agent that this gateway serves. */
  agent(agentId: string): AgentConfig | undefined;
  /** Whether the processes of this agent run in a terminal. */
  hasTerminal(agent: AgentConfig): Promise<boolean>;
  /** Whether the policy for direct messages names this sender; false under the policy `open`, which names nobody. */
  isListed(agent: AgentConfig, asker: Asker): Promise<boolean>;
  publicUrl(): string | undefined;
  clock: Clock;
  log: Logger;
}

export interface IssuedTicket {
  ticket: string;
  /** Unix ms. */
  expiresAt: number;
}

const noSession = () => new GatewayError("SESSION_NOT_FOUND", "This agent has no session with this id.");
const gone = () => new GatewayError("NOT_FOUND", "This link is unknown or has expired.");
const notYours = (message: string) => new GatewayError("FORBIDDEN", message);

/** Terminals for people: on WebSockets, as text, and by `/cli` in a chat. */
export function createRoom(deps: TerminalDeps) {
  const { sessions, tickets, clock } = deps;
  const screens = createLiveScreens(deps);
  const pairings = createPairings(clock);
  const takeOnce = createTakenOnce(clock);

  const terminalOf = async (sessionId: string) =>
    sessions.terminal(sessionId) ?? (await sessions.openTerminal(sessionId));

  /** Whether the person who asked may still look; a pairing whose person may not ends. */
  const stands = async ({ id, asker }: Pick<Pairing, "id" | "asker">): Promise<boolean> => {
    const agent = deps.agent(asker.agentId);
    const may = agent !== undefined && (await deps.hasTerminal(agent)) && (await deps.isListed(agent, asker));
    if (!may) pairings.end(id);
    return may;
  };
  const require = (id: string): Pairing => {
    const pairing = pairings.find(id);
    if (!pairing) throw gone();
    return pairing;
  };
  const requireBrowser = (id: string, token: string | undefined): Pairing => {
    const pairing = require(id);
    if (pairings.isBrowser(id, token)) return pairing;
    throw notYours("Another browser has opened this link.");
  };
  const requireViewer = async (id: string, token: string | undefined): Promise<Pairing> => {
    const pairing = require(id);
    if (!pairings.isViewer(id, token)) throw notYours("This viewer is not approved for this browser.");
    if (!(await stands(pairing))) throw gone();
    return pairing;
  };
  const judgeViewer = (pairing: Pairing) => {
    if (!pairings.isOpen(pairing.id)) return notYours("The time of this viewer is over.");
    // Lists are read from files: what this finds counts the next time.
    void stands(pairing).catch(() => pairings.end(pairing.id));
    return undefined;
  };

  const issue = async (
    agentId: string,
    sessionId: string,
    right: Pick<TicketHolder, "principal" | "judge">,
  ): Promise<IssuedTicket> => {
    const session = await sessions.find(sessionId);
    if (session?.agentId !== agentId) throw noSession();
    await terminalOf(sessionId);
    return tickets.issue({ agentId, sessionId, ...right });
  };

  return {
    /** @throws GatewayError `SESSION_NOT_FOUND`, or why its terminal could not be started */
    ticket: (principal: Principal, agentId: string, sessionId: string): Promise<IssuedTicket> =>
      issue(agentId, sessionId, { principal }),

    /** @throws GatewayError `SESSION_NOT_FOUND` */
    async requireSession(agentId: string, sessionId: string): Promise<void> {
      if ((await sessions.find(sessionId))?.agentId !== agentId) throw noSession();
    },

    serve: (socket: WebSocket, sessionId: string) => screens.serve(socket, () => terminalOf(sessionId)),

    /** The visible screen. @throws GatewayError `NOT_FOUND` */
    async screen(sessionId: string) {
      const none = () => new GatewayError("NOT_FOUND", "This session has no terminal.");
      const terminal = sessions.terminal(sessionId);
      if (!terminal) throw none();
      return terminal.screen().catch(() => {
        throw none();
      });
    },

    /** Answers `/cli` in a chat; undefined where there is no such command. */
    command: createChatCommand({ ...deps, pairings }),

    pairing: {
      find: pairings.find,
      /** The token for the first browser. @throws GatewayError `NOT_FOUND`, `FORBIDDEN` */
      bind(id: string): string {
        require(id);
        const token = pairings.bind(id);
        if (token === undefined) throw notYours("Another browser has opened this link.");
        return token;
      },
      /** @throws GatewayError `NOT_FOUND`, `FORBIDDEN` */
      status(id: string, token: string | undefined) {
        const { state, code, expiresAt } = requireBrowser(id, token);
        return { state, code, expiresAt, viewer: pairings.viewerToken(id) };
      },
      /** Takes the proof of a web app. @throws GatewayError `NOT_FOUND`, `FORBIDDEN` */
      async init(id: string, token: string | undefined, initData: () => string): Promise<void> {
        const pairing = requireBrowser(id, token);
        const text = initData();
        const { asker } = pairing;
        const refuse = () => notYours("The sign-in of the chat app is not valid; send /cli again.");
        const botToken = deps.agent(asker.agentId)?.botchat?.botToken;
        if (asker.channel !== "botchat" || !botToken) throw refuse();
        const data = readInitData(text, botToken, clock.now());
        if (data?.userId !== asker.senderId || !takeOnce(data.digest)) throw refuse();
        if (!(await stands(pairing))) throw gone();
        if (!pairings.approve(id)) throw refuse();
      },
      /** @throws GatewayError `NOT_FOUND`, `FORBIDDEN` */
      async view(id: string, token: string | undefined): Promise<void> {
        await requireViewer(id, token);
      },
      /** The sessions of its agent. @throws GatewayError `NOT_FOUND`, `FORBIDDEN` */
      async sessions(
        id: string,
        token: string | undefined,
      ): Promise<{ agentId: string; sessions: TerminalSession[] }> {
        const { agentId } = (await requireViewer(id, token)).asker;
        return { agentId, sessions: await sessions.list(agentId) };
      },
      /** A ticket for a session of its agent. @throws GatewayError `NOT_FOUND`, `FORBIDDEN` */
      async ticket(id: string, token: string | undefined, sessionId: () => string): Promise<IssuedTicket> {
        const pairing = await requireViewer(id, token);
        const { agentId } = pairing.asker;
        const wanted = sessionId();
        const principal: Principal = {
          kind: "none",
          id: `cli-${pairing.code}`,
          keyId: null,
          level: "admin",
          agents: new Set([agentId]),
        };
        try {
          return await issue(agentId, wanted, { principal, judge: () => judgeViewer(pairing) });
        } catch (error) {
          // Which sessions other agents have is nobody's business.
          if (error instanceof GatewayError && error.code === "SESSION_NOT_FOUND") {
            throw notYours("This viewer shows the sessions of its own agent.");
          }
          throw error;
        }
      },
    },
  };
}
export type TerminalRoom = ReturnType<typeof createRoom>;
export type { ChatMessage, Said };
