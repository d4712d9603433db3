/** Who a request speaks for. */
export interface Principal {
  /** `none` on routes without auth, `open` on a keyless loopback's monitoring routes. */
  kind: "key" | "dashboard" | "none" | "open";
  /** Stable and not secret: names the key in logs and rate limits. */
  id: string;
  /** Names the key to its owner: its configured `id`, else the beginning of its hash; null without a key. */
  keyId: string | null;
  level: "key" | "write" | "admin";
  /** Names the dashboard login that it speaks through, without giving it away. */
  login?: string;
  /** Agents that it may access. */
  agents: "*" | ReadonlySet<string>;
}

const RANK = { key: 0, write: 1, admin: 2 } as const;

/** True when `principal` has at least `level`. */
export function hasLevel(principal: Principal, level: keyof typeof RANK): boolean {
  return RANK[principal.level] >= RANK[level];
}

/** True when `principal` may use this agent. */
export function reaches(principal: Principal, agentId: string): boolean {
  return principal.agents === "*" || principal.agents.has(agentId);
}
