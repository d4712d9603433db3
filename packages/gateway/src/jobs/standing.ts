import type { Change } from "../store/index.ts";
import { commitByOwner, ownerOf } from "./owner.ts";
import type { RunDeps } from "./run.ts";
import type { JobKind } from "./types.ts";

type Owned = readonly [owner: string, change: Change<unknown>];

const payloadText = (payload: unknown) => (payload === undefined ? null : JSON.stringify(payload));

/**
 * Makes the stored jobs those that the kinds always have: adds what is missing, plans anew what has other settings,
 * removes what is no longer wanted. Writes nothing where nothing differs.
 */
export async function syncStanding(
  { store, clock }: Pick<RunDeps, "store" | "clock">,
  kinds: readonly JobKind[],
  node: string,
  owners: readonly string[],
): Promise<void> {
  const standing = kinds.filter((kind) => kind.standing);
  if (standing.length === 0) return;
  const stored = await store.jobs.ofKinds(standing.map(({ name }) => name));
  const now = clock.now();
  const changes = standing.flatMap((kind) => {
    const left = new Map(stored.filter((row) => row.kind === kind.name).map((row) => [row.key, row]));
    const wanted = kind.standing!().flatMap(({ key, owner, payload }): Owned[] => {
      const row = left.get(key);
      left.delete(key);
      const text = payloadText(payload);
      const whose = ownerOf(kind, owner, node);
      // Another node's.
      if (!owners.includes(whose)) return [];
      if (row && row.payload === text) return [];
      const nextAt = (kind.first ?? kind.next)?.({ key, payload }, now) ?? now;
      const job = { kind: kind.name, key };
      return row
        ? [[row.owner, store.jobs.replan(job, { now, nextAt, payload: text })]]
        : [[whose, store.jobs.add({ ...job, owner: whose, payload: text, now, nextAt })]];
    });
    // Those of an agent that is missing here may be another node's.
    const surplus = [...left.values()].filter((row) => owners.includes(row.owner));
    return [...wanted, ...surplus.map((row): Owned => [row.owner, store.jobs.remove(row)])];
  });
  await commitByOwner(store, changes);
}
