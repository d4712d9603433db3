import { GatewayError } from "@agent-gateway/contract";
import type { Access, ChannelPlace, InboundMessage } from "./channels/index.ts";
import type { AgentConfig, Config } from "./config/index.ts";
import type { History } from "./history/index.ts";
import { routes } from "./http/index.ts";
import type { Clock } from "./lib/clock.ts";
import { dashboardFolder } from "./lib/entry.ts";
import type { Logger } from "./lib/logger.ts";
import type { Sessions } from "./sessions/index.ts";
import type { Store } from "./store/index.ts";
import { CLI_CHANNELS, CLI_COMMAND, createTerminal } from "./terminal/index.ts";

export interface AppTerminalDeps {
  rows: Pick<Store, "sessions">;
  sessions: Sessions;
  history: Pick<History, "sessions">;
  config: () => Config;
  /** A configured agent, on whichever gateway. */
  agent(agentId: string): AgentConfig | undefined;
  /** False for an agent of another gateway. */
  serves(agentId: string): boolean;
  access(): Promise<Pick<Access, "isListed">>;
  clock: Clock;
  log: Logger;
}

/** Wires the terminals of sessions to their routes, their socket and the chats. */
export function createAppTerminal(deps: AppTerminalDeps) {
  const { sessions, config, serves } = deps;
  const served = (id: string) => (serves(id) ? deps.agent(id) : undefined);
  const find = async (sessionId: string) => {
    const row = await deps.rows.sessions.byId(sessionId);
    return row && { agentId: row.agent_id };
  };
  const hasTerminal = sessions.hasTerminal;

  const terminal = createTerminal({
    sessions: {
      find,
      list: async (agentId) =>
        (await deps.history.sessions(agentId)).map(({ sessionId, sessionName, chatId, lastActivity }) => ({
          sessionId,
          sessionName,
          chatId,
          busy: sessions.isBusy(sessionId),
          lastActivity,
        })),
      terminal: sessions.terminal,
      async openTerminal(sessionId) {
        const row = await deps.rows.sessions.byId(sessionId);
        const agent = row && served(row.agent_id);
        if (!agent) throw new GatewayError("SESSION_NOT_FOUND");
        return sessions.openTerminal(agent, row).catch((error: unknown) => {
          throw error instanceof GatewayError
            ? error
            : new GatewayError("AGENT_FAILED", error instanceof Error ? error.message : undefined, {
                cause: error,
              });
        });
      },
    },
    agent: served,
    hasTerminal,
    isListed: async (agent, { channel, senderId }) => {
      const { isListed } = await deps.access();
      return isListed({ agentId: agent.id, channel, account: "" }, agent, senderId);
    },
    publicUrl: () => config().gateway.publicUrl,
    clock: deps.clock,
    log: deps.log,
  });

  return {
    endpoints: [
      ...routes.terminalRoutes({
        terminal,
        sessions: { find },
        agentExists: (id) => deps.agent(id) !== undefined,
        serves,
      }),
      ...routes.pairingRoutes({ terminal, config, directory: dashboardFolder() }),
    ],
    sockets: [routes.terminalSocket(terminal)],
    /** `/cli`, where the agent has a terminal and the channel shows it. */
    ownCommands: async (agent: AgentConfig, channel: string) =>
      CLI_CHANNELS.some((name) => name === channel) && (await hasTerminal(agent)) ? [CLI_COMMAND] : [],
    /** Answers `/cli` in a chat; undefined where there is no such command. */
    async cli(agent: AgentConfig, { channel }: ChannelPlace, message: InboundMessage) {
      if (!(await hasTerminal(agent))) return undefined;
      const { command } = await terminal.room();
      const { chatId, senderId, text } = message;
      return command({ agent, channel, chatId, senderId, text, isDirect: message.kind === "dm" });
    },
  };
}
