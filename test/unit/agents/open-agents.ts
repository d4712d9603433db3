import { readFile } from "node:fs/promises";
import { type AgentsDeps, createAgents } from "../../../packages/gateway/src/agents/index.ts";
import { tempHome } from "../../fixtures/temp-home.ts";

/** What the rooms around the agents say when nothing is asked of them. */
export const quietPorts: Pick<AgentsDeps, "channelsOf" | "connectorsOf" | "checkToken" | "runtimeStatus"> = {
  connectorsOf: async () => ({}),
  channelsOf: () => ({ channels: {}, devicechat_accounts: [] }),
  checkToken: async () => ({ ok: true }),
  runtimeStatus: async ({ runtime }) => ({
    type: runtime.type,
    program: null,
    version: null,
    login: "unknown",
    problem: null,
    warnings: [],
    lastError: null,
  }),
};

/** The agents of a configuration, in a home of their own. */
export async function openAgents(
  config: unknown,
  env: Record<string, string> = {},
  ports: Partial<typeof quietPorts> = {},
) {
  const home = await tempHome(config);
  const store = await home.open(env);
  const agents = createAgents({ config: store, paths: home.paths, env, ...quietPorts, ...ports });
  const file = async () => JSON.parse(await readFile(home.paths.configFile, "utf8"));
  return { ...home, store, agents, file };
}
