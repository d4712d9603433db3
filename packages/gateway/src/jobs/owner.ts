import { type AgentUnits, type Change, FencedError, type Store } from "../store/index.ts";
import type { JobKind } from "./types.ts";

/** How the owner of a job is stored: an agent's id, which holds no colon, `node:` and a name, or nothing. */
export const ownerOf = ({ scope }: JobKind, agent: string | undefined, node: string): string =>
  scope === "agent" ? (agent ?? "") : scope === "node" ? `node:${node}` : "";

/** How what a job of this owner changes is committed. */
export const unitsOf = (
  store: Pick<Store, "commit" | "forAgent">,
  owner: string,
): Pick<AgentUnits, "commit"> => (owner === "" || owner.startsWith("node:") ? store : store.forAgent(owner));

/**
 * Commits changes to jobs, those of each owner together. An agent that another gateway has taken meanwhile is left to it.
 */
export async function commitByOwner(
  store: Pick<Store, "commit" | "forAgent">,
  changes: ReadonlyArray<readonly [owner: string, change: Change<unknown>]>,
): Promise<void> {
  const byOwner = Map.groupBy(changes, ([owner]) => owner);
  const units = [...byOwner].map(([owner, own]) =>
    unitsOf(store, owner)
      .commit(...own.map(([, change]) => change))
      .catch((error) => {
        if (!(error instanceof FencedError)) throw error;
      }),
  );
  await Promise.all(units);
}
