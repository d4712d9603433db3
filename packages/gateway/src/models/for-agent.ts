import { GatewayError, type Model } from "@agent-gateway/contract";
import type { AgentConfig } from "../config/index.ts";
import type { Models } from "./models.ts";

/** Models that an agent program offers by itself, and the one that it uses unless told otherwise. */
export interface OwnModels {
  current: string | null;
  available: readonly { id: string; name: string }[];
}

export interface AgentModelDeps {
  models: Pick<Models, "list" | "resolve" | "contextWindow">;
  /**
   * The agent's own models: undefined for an agent that takes the gateway's, null where they are not known. `ask`
   * starts the agent program to find out.
   */
  own(agent: AgentConfig, how: { ask: boolean }): Promise<OwnModels | null | undefined>;
}

/** Tokens, for a model whose context window is not known. */
const DEFAULT_CONTEXT_WINDOW = 200_000;
const WORD = /^[\w.:-]{1,64}$/;

/** The models to choose from for one agent: its program's own, or the gateway's. */
export function createAgentModels({ models, own }: AgentModelDeps) {
  const listed = (offered: OwnModels): Model[] => {
    const aliases = offered.available.map(aliasOf);
    return offered.available.map(({ id, name }, at) => ({
      id,
      name,
      alias: aliases.filter((alias) => alias === aliases[at]).length === 1 ? aliases[at]! : id,
      contextWindow: models.contextWindow(id) ?? DEFAULT_CONTEXT_WINDOW,
      multiplier: 1,
    }));
  };
  const find = (offered: OwnModels, wanted: string): string | undefined => {
    const lower = wanted.trim().toLowerCase();
    const all = listed(offered);
    const by = (test: (model: Model) => boolean) => all.find(test)?.id;
    return (
      by(({ id }) => id === wanted.trim()) ??
      by(({ id }) => id.toLowerCase() === lower) ??
      by(({ alias }) => alias.toLowerCase() === lower) ??
      by(({ name }) => name.toLowerCase() === lower)
    );
  };

  const list = async (agent: AgentConfig): Promise<Model[]> => {
    const offered = await own(agent, { ask: true });
    return offered === undefined ? models.list() : offered === null ? [] : listed(offered);
  };
  /** Id of the model that an id, alias or name stands for; undefined when the agent has no such model. */
  const resolve = async (agent: AgentConfig, wanted: string): Promise<string | undefined> => {
    const offered = await own(agent, { ask: true });
    return offered === undefined ? models.resolve(wanted) : offered ? find(offered, wanted) : undefined;
  };

  /**
   * The same as {@link resolve}, for a request.
   * @throws GatewayError `INVALID_REQUEST` for an unknown model
   */
  const require = async (agent: AgentConfig, wanted: string): Promise<string> => {
    const id = await resolve(agent, wanted);
    if (id !== undefined) return id;
    throw new GatewayError("INVALID_REQUEST", "model: no such model.", {
      details: [{ path: "model", message: "no such model" }],
    });
  };

  return {
    list,
    resolve,

    /** The model of a session's next turn, given its chosen model and the one that answered last. */
    async shown(
      agent: AgentConfig,
      { chosen, latest }: { chosen: string | null; latest: string | null },
    ): Promise<string | null> {
      const offered = await own(agent, { ask: false });
      const wanted = chosen ?? agent.model ?? null;
      if (!offered) return wanted ?? latest;
      // The agent does not use models it does not offer, whatever the configuration says.
      if (wanted !== null && find(offered, wanted) === wanted) return wanted;
      return latest ?? offered.current;
    },

    /**
     * The model to store for an agent: judged like {@link require} where the program offers its own, as given elsewhere.
     * @throws GatewayError `INVALID_REQUEST` for a model that the program does not offer
     */
    async judge(agent: AgentConfig, wanted: string): Promise<string> {
      return (await own(agent, { ask: true })) === undefined ? wanted : require(agent, wanted);
    },

    require,
  };
}
export type AgentModels = ReturnType<typeof createAgentModels>;

/** A short name: the display name if it is one word, else the part of the id after its last slash. */
function aliasOf({ id, name }: { id: string; name: string }): string {
  return WORD.test(name) ? name : (id.split("/").at(-1) ?? id);
}
