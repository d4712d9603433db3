import { GatewayError, type Incident, type IncidentAction } from "@agent-gateway/contract";
import { once } from "../lib/once.ts";
import type { HealingDeps, Watched } from "./ports.ts";

export type { HealingDeps, HealingSettings, Watched } from "./ports.ts";

const LOOK_MS = 1_000;
/** If a look comes this late, the gateway was held up, and what agents wrote meanwhile has not been read yet. */
const HELD_UP_MS = 5_000;

/** Turns are mostly over by then, and nothing that is not set shorter counts before. */
const SHORTEST_SECONDS = 5;

/** Watches over running turns, finds those that are stuck, and repairs them where that is wanted. */
export interface Healing {
  /** What the turn loop tells. Nothing of it throws or rejects. */
  watch: {
    began(): void;
    exited(turn: Watched, outcome: { error?: string }): Promise<boolean>;
    ended(turn: Watched, status: string): void;
  };
  /** The latest incidents of an agent, newest first. */
  list(agentId: string): Incident[];
  /** @throws GatewayError `NOT_FOUND` */
  require(agentId: string, incidentId: string): void;
  /** @throws GatewayError `NOT_FOUND`, `INVALID_REQUEST` when the action is not allowed, `CONFLICT` */
  act(agentId: string, incidentId: string, action: IncidentAction): Promise<Incident>;
  /** The latest open incident of a session. */
  openOf(sessionId: string): Pick<Incident, "id" | "stage"> | null;
}

/** What does the work (`room.ts`) is loaded when a turn takes long, or its process is gone. */
export function createHealing(deps: HealingDeps): Healing {
  const { clock, log, settings } = deps;
  const room = once(async () => (await import("./room.ts")).createRoom(deps));
  let cancel: (() => void) | undefined;
  let lookedAt = 0;

  const load = async () => {
    try {
      return await room();
    } catch (error) {
      log.error({ err: error }, "could not load the watchdog of turns");
      return undefined;
    }
  };
  const isLong = ({ begunAt }: Watched) => {
    const { quietSeconds, readySeconds } = settings();
    return clock.elapsed() - begunAt >= Math.min(quietSeconds, readySeconds, SHORTEST_SECONDS) * 1000;
  };
  const look = () => {
    const now = clock.elapsed();
    const heldUp = now - lookedAt >= HELD_UP_MS;
    lookedAt = now;
    const turns = deps.running();
    if (turns.length === 0) {
      cancel?.();
      cancel = undefined;
    } else if (settings().enabled && !heldUp) {
      if (room.made) room.made.look(turns);
      else if (turns.some(isLong)) void load();
    }
  };

  return {
    watch: {
      began() {
        if (cancel) return;
        lookedAt = clock.elapsed();
        cancel = clock.every(LOOK_MS, look);
      },
      async exited(turn, outcome) {
        const { enabled, stages } = settings();
        if (!enabled || !stages.includes("exited")) return false;
        return (await load())?.exited(turn, outcome) ?? false;
      },
      ended: (turn, status) => room.made?.ended(turn, status),
    },
    list: (agentId) => room.made?.list(agentId) ?? [],
    require(agentId, incidentId) {
      if (!room.made?.find(agentId, incidentId)) throw noIncident();
    },
    async act(agentId, incidentId, action) {
      if (!room.made) throw noIncident();
      return room.made.act(agentId, incidentId, action);
    },
    openOf: (sessionId) => room.made?.openOf(sessionId) ?? null,
  };
}

const noIncident = () => new GatewayError("NOT_FOUND", "There is no such incident.");
