import type { AgentUnits, Store } from "../store/index.ts";
import type { JobKind } from "./types.ts";

/** How the owner of a job is stored: an agent's id, which holds no colon, `node:` and a name, or nothing. */
export const ownerOf = ({ scope }: JobKind, agent: string | undefined, node: string): string =>
  scope === "agent" ? (agent ?? "") : scope === "node" ? `node:${node}` : "";

/** How what a job of this owner changes is committed. */
export const unitsOf = (
  store: Pick<Store, "commit" | "forAgent">,
  owner: string,
): Pick<AgentUnits, "commit"> => (owner === "" || owner.startsWith("node:") ? store : store.forAgent(owner));
