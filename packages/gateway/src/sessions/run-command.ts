import { GatewayError, type Model } from "@agent-gateway/contract";
import type { AgentConfig } from "../config/index.ts";
import type { SessionRow } from "../store/index.ts";
import type { Command } from "./commands.ts";

export interface CommandReply {
  command: Command["name"];
  session_id: string;
  result: Record<string, unknown>;
}

/** What commands need from the models room. */
export interface CommandModels {
  list(agent: AgentConfig): Promise<Model[]>;
  /** Id of a model by id, alias or name; undefined when the agent has no such model. */
  resolve(agent: AgentConfig, wanted: string): Promise<string | undefined>;
  /** The model of the next turn, given the session's choice and the model that answered last. */
  shown(
    agent: AgentConfig,
    session: { chosen: string | null; latest: string | null },
  ): Promise<string | null>;
}

/** What commands do with a session. */
interface CommandSessions {
  latest(agentId: string, chatId: string): Promise<SessionRow | undefined>;
  require(agentId: string, chatId: string, sessionId: string): Promise<SessionRow>;
  info(row: SessionRow): { sessionName: string; messageCount: number; contextPercent: number };
  clear(row: SessionRow): Promise<void>;
  compact(agent: AgentConfig, row: SessionRow, keyId: string | null): Promise<object>;
  stop(row: SessionRow): Promise<boolean>;
  restart(agent: AgentConfig, row: SessionRow, back?: () => void): Promise<void>;
  setModel(row: SessionRow, model: string): Promise<void>;
}

/**
 * Runs slash commands and formats their results; the session endpoints do the same things. `back` is called when a
 * restarted process is there.
 */
export function createCommandRunner(sessions: CommandSessions, models: CommandModels) {
  return async (
    agent: AgentConfig,
    chatId: string,
    sessionId: string | undefined,
    command: Command,
    { keyId = null, back }: { keyId?: string | null; back?: () => void } = {},
  ): Promise<CommandReply> => {
    const row =
      sessionId === undefined
        ? await sessions.latest(agent.id, chatId)
        : await sessions.require(agent.id, chatId, sessionId);
    if (!row) throw new GatewayError("SESSION_NOT_FOUND", "This chat has no session yet.");
    const run = async (): Promise<Record<string, unknown>> => {
      switch (command.name) {
        case "/session": {
          const info = sessions.info(row);
          return {
            name: info.sessionName,
            messageCount: info.messageCount,
            contextPercent: info.contextPercent,
          };
        }
        case "/clear":
          await sessions.clear(row);
          return { cleared: true };
        case "/compact":
          return { ...(await sessions.compact(agent, row, keyId)) };
        case "/stop":
          return { stopped: await sessions.stop(row) };
        case "/restart":
          await sessions.restart(agent, row, back);
          return { restarting: true };
        case "/model": {
          if (command.argument === "") {
            const list = await models.list(agent);
            const shown = await models.shown(agent, { chosen: row.model_override, latest: row.model });
            return { model: shown, models: list };
          }
          const model = await models.resolve(agent, command.argument);
          if (!model)
            throw new GatewayError(
              "INVALID_REQUEST",
              "There is no such model; /model lists the known ones.",
              {
                details: [{ path: "message", message: "names a model that does not exist" }],
              },
            );
          await sessions.setModel(row, model);
          return { model };
        }
        default:
          return command.name satisfies never;
      }
    };
    return { command: command.name, session_id: row.uuid, result: await run() };
  };
}
export type RunCommand = ReturnType<typeof createCommandRunner>;
