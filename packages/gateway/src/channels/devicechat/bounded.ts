/** A map that forgets what was set longest ago, and what is older than `ttlMs`. */
export interface BoundedMap<V> {
  get(key: string): V | undefined;
  has(key: string): boolean;
  set(key: string, value: V): void;
  delete(key: string): void;
}

export function boundedMap<V>(
  max: number,
  now: () => number,
  ttlMs = Number.POSITIVE_INFINITY,
): BoundedMap<V> {
  const entries = new Map<string, { value: V; at: number }>();
  const get = (key: string) => {
    const entry = entries.get(key);
    if (entry && now() - entry.at <= ttlMs) return entry.value;
    entries.delete(key);
    return undefined;
  };
  return {
    get,
    has: (key) => get(key) !== undefined,
    set(key, value) {
      entries.delete(key);
      entries.set(key, { value, at: now() });
      if (entries.size > max) entries.delete(entries.keys().next().value!);
    },
    delete: (key) => void entries.delete(key),
  };
}
