import type { LiveTerminal } from "../runtimes/index.ts";

/** A session, as far as its terminal is concerned. */
export interface TerminalSession {
  sessionId: string;
  sessionName: string | null;
  chatId: string;
  busy: boolean;
  lastActivity: number;
}

/** What the room needs of the sessions. */
export interface SessionsPort {
  /** The session with this id, whichever agent it belongs to. */
  find(sessionId: string): Promise<{ agentId: string } | undefined>;
  /** All of an agent, latest first. */
  list(agentId: string): Promise<TerminalSession[]>;
  /** The terminal of the session's process; undefined while it has none. */
  terminal(sessionId: string): LiveTerminal | undefined;
  /**
   * The same, of a process that is started if need be; undefined where the agent's processes have no terminal.
   * @throws GatewayError `SESSION_NOT_FOUND`, `CAPACITY`, `AGENT_FAILED`, `UNAVAILABLE`
   */
  openTerminal(sessionId: string): Promise<LiveTerminal | undefined>;
}
