import { GatewayError } from "@agent-gateway/contract";
import { NOT_HERE, NOT_HERE_HEADERS } from "../lib/not-here.ts";
import type { Statement } from "./statement.ts";

/** Another gateway owns the agent, or may by now; nothing was changed. */
export class FencedError extends GatewayError {
  constructor() {
    super("UNAVAILABLE", NOT_HERE, { headers: NOT_HERE_HEADERS });
    this.name = "FENCED";
  }
}

/** A gateway that uses the store. */
export interface NodeEntry {
  /** New with each start. */
  bootId: string;
  name: string;
  address: string;
  /** Id of its home, the same for every start on it, and behind an `@` what changes when its disk is another. */
  home: string;
  /** Nobody takes its agents before it has been silent for so long. */
  leaseMs: number;
}

export interface SeenNode extends NodeEntry {
  /** Raised by each beat. */
  counter: number;
}

/** Who owns an agent. */
export interface Placement {
  agentId: string;
  /** Null while it is free. */
  bootId: string | null;
  /** Raised each time somebody takes or frees it. */
  fence: number;
  /** Id in the marker of its workspace; null until the next owner says. */
  workspace: string | null;
}

/** Gateways that share a store, and who owns which agent. */
export interface Directory {
  /** Raises the counter of a gateway, and registers one that is not there. On a connection of its own. */
  beat(node: NodeEntry): Promise<void>;
  /** Every gateway that is registered at least as late as the placements were read. */
  look(): Promise<{ nodes: SeenNode[]; placements: Placement[] }>;
  /**
   * Takes an agent, if its placement still is what was seen (`undefined`: none): waits for units in flight, then raises
   * the fence. Answers the new one, or undefined if somebody else was faster.
   */
  take(
    agentId: string,
    by: { bootId: string; workspace: string },
    seen: Pick<Placement, "bootId" | "fence"> | undefined,
  ): Promise<number | undefined>;
  /** Frees an agent of a gateway; `forget` also what its workspace was. */
  free(agentId: string, bootId: string, options?: { forget?: boolean }): Promise<void>;
  /** Frees all agents of a gateway, and removes it. */
  leave(bootId: string): Promise<void>;
}

/** What a driver does so that several gateways can share a store. */
export interface Shared {
  readonly directory: Directory;
  /** Waits for whoever takes the agent at this moment, and fails its unit if the claim is of the past. */
  fence(claim: Pick<Claim, "agentId" | "bootId" | "fence">): Statement;
  /** Reserves ids of messages in a row that nobody else gets; resolves to the first. */
  reserveIds(count: number): Promise<number>;
  /** Whether a unit failed because of its fence. */
  isFenced(error: unknown): boolean;
}

/**
 * Runs one transaction, which begins with the statements that it is given.
 * @throws FencedError once another gateway may own the agent
 */
export type AsOwner = <T>(write: (fence: readonly Statement[]) => Promise<T>) => Promise<T>;

/** The right to change what belongs to an agent, until somebody else takes it. */
export interface Claim extends Readonly<Pick<Placement, "agentId" | "fence">> {
  readonly bootId: string;
  /** False once it is certain or possible that another gateway has taken the agent. */
  holds(): boolean;
  /** False, besides, while another gateway may have come unseen and be about to take it. */
  reaches(): boolean;
  /** Called when the store refused a unit because of the fence. */
  refused(): void;
}
