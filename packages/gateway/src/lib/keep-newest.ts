/**
 * Bounds a collection that grows by what a program says: above `most` entries the older half goes, so that each entry
 * costs a constant amount of time.
 * @param forget called for each entry that goes, before it does.
 */
export function keepNewest<Key>(
  collection: Set<Key> | Map<Key, unknown>,
  most: number,
  forget?: (key: Key) => void,
): void {
  if (collection.size <= most) return;
  let surplus = collection.size - Math.floor(most / 2);
  for (const key of collection.keys()) {
    if (surplus-- === 0) return;
    forget?.(key);
    collection.delete(key);
  }
}
