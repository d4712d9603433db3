import { silentLogger } from "../../../packages/gateway/src/lib/logger.ts";
import { createOwners, type Owners } from "../../../packages/gateway/src/owners/index.ts";
import type { Directory, Placement, SeenNode } from "../../../packages/gateway/src/store/index.ts";

interface Timer {
  at: number;
  order: number;
  task: () => void;
}

/** What the simulated store holds. Each of its operations takes effect at one moment. */
export function simulatedStore() {
  const nodes = new Map<string, SeenNode>();
  const placements = new Map<string, Placement>();
  const change = (agentId: string, bootId: string | null, workspace: string | null) => {
    const fence = (placements.get(agentId)?.fence ?? 0) + 1;
    placements.set(agentId, { agentId, bootId, fence, workspace });
    return fence;
  };
  return {
    nodes,
    placements,
    operations: {
      async beat(node) {
        nodes.set(node.bootId, { ...node, counter: (nodes.get(node.bootId)?.counter ?? 0) + 1 });
      },
      async look() {
        return {
          nodes: [...nodes.values()].map((entry) => ({ ...entry })),
          placements: [...placements.values()].map((entry) => ({ ...entry })),
        };
      },
      async take(agentId, { bootId, workspace }, seen) {
        const now = placements.get(agentId);
        if (now?.bootId !== seen?.bootId || now?.fence !== seen?.fence) return undefined;
        return change(agentId, bootId, workspace);
      },
      async free(agentId, bootId, { forget = false } = {}) {
        const now = placements.get(agentId);
        if (now?.bootId === bootId) change(agentId, null, forget ? null : now.workspace);
      },
      async leave(bootId) {
        for (const now of placements.values())
          if (now.bootId === bootId) change(now.agentId, null, now.workspace);
        nodes.delete(bootId);
      },
    } satisfies Directory,
  };
}

/** Several gateways on one store, in simulated time. What waits for the outside takes a time of its own. */
export function simulatedCluster(random: () => number, leaseMs: number, agents: readonly string[]) {
  const store = simulatedStore();
  let now = 0;
  let order = 0;
  const queue: Timer[] = [];
  const at = (when: number, task: () => void) => {
    const timer = { at: when, order: order++, task };
    queue.push(timer);
    return () => {
      const index = queue.indexOf(timer);
      if (index >= 0) queue.splice(index, 1);
    };
  };

  const violations: string[] = [];
  /** Share of the messages that take nearly as long as anybody waits. */
  let slowness = 0;
  /** Who acted for an agent last, and when: two may not act within the same moment of a takeover. */
  const recovered = new Map<string, { name: string; at: number; fence: number }>();

  function join(name: string, home = name) {
    const state = { pausedUntil: 0, cutUntil: 0, dead: false, wall: 0, lonely: false };
    /** Runs in this process: not while it stands still, and never after its end. */
    const own = (when: number, task: () => void): (() => void) =>
      at(when, () => {
        if (state.dead) return;
        if (state.pausedUntil > now) void own(state.pausedUntil + random() * 3, task);
        else task();
      });
    const clock = {
      now: () => now + state.wall,
      elapsed: () => now,
      after: (ms: number, task: () => void) => own(now + ms, task),
      every: () => () => {},
    };
    /** A request of its own way there and back, either of which may be lost. */
    const remote = <T>(work: () => Promise<T>): Promise<T> =>
      new Promise((resolve, reject) => {
        const lost = () => own(now + 2_000, () => reject(new Error("timed out")));
        if (state.cutUntil > now) return void lost();
        // Now and then it takes nearly as long as anybody waits.
        const slow = () => random() * (random() < slowness ? 1_900 : 20);
        at(now + slow(), async () => {
          const answer = await work().catch((error: Error) => error);
          if (state.cutUntil > now) lost();
          else own(now + slow(), () => (answer instanceof Error ? reject(answer) : resolve(answer)));
        });
      });
    const { operations } = store;
    const directory: Directory = {
      beat: (node) => remote(() => operations.beat(node)),
      look: () => remote(() => operations.look()),
      take: (...args) => remote(() => operations.take(...args)),
      free: (...args) => remote(() => operations.free(...args)),
      leave: (bootId) => remote(() => operations.leave(bootId)),
    };
    const owners: Owners = createOwners({
      directory,
      node: { bootId: name, name, address: "", home },
      clock,
      log: silentLogger,
      leaseMs: () => leaseMs,
      agents: () => agents.map((id) => ({ id, workspace: id })),
      readMarker: async (workspace) => workspace,
      ensureMarker: async (workspace) => workspace,
      recover: (agentId) =>
        remote(async () => {
          const claim = owners.claim(agentId);
          const placement = store.placements.get(agentId)!;
          // The unit of a recovery carries the fence.
          if (placement.bootId !== name || placement.fence !== claim?.fence) throw new Error("FENCED");
          const last = recovered.get(agentId);
          if (last?.fence === placement.fence)
            violations.push(`${agentId} was recovered twice with one fence`);
          recovered.set(agentId, { name, at: now, fence: placement.fence });
        }),
      onTaken() {},
      onLost: () => new Promise((resolve) => void own(now + random() * 1_500, resolve)),
      onLook() {},
      onReach() {},
    });
    /** What a gateway does all the time: it looks whether it may, and acts. */
    const act = () => {
      for (const agent of agents) {
        const last = recovered.get(agent);
        if (!last || last.name === name) continue;
        if (owners.connects(agent))
          violations.push(`${name} held connections of ${agent} after ${last.name} took it`);
        if (owners.owns(agent) && !state.lonely)
          violations.push(`${name} acted for ${agent} after ${last.name} took it`);
      }
      own(now + 20 + random() * 60, act);
    };
    act();
    void owners.start();
    return {
      name,
      owners,
      pause(ms: number) {
        state.pausedUntil = Math.max(state.pausedUntil, now + ms);
      },
      cut(ms: number) {
        state.cutUntil = Math.max(state.cutUntil, now + ms);
      },
      jump(ms: number) {
        state.wall += ms;
      },
      /** It may take itself for the only one: what it then does for an agent is refused by the fence. */
      lonely() {
        state.lonely = true;
      },
      kill() {
        state.dead = true;
      },
    };
  }

  /** Lets everything happen until a time. */
  async function run(until: number): Promise<void> {
    for (;;) {
      let next: Timer | undefined;
      for (const timer of queue) {
        if (!next || timer.at < next.at || (timer.at === next.at && timer.order < next.order)) next = timer;
      }
      if (!next || next.at > until) break;
      queue.splice(queue.indexOf(next), 1);
      now = Math.max(now, next.at);
      next.task();
      for (let n = 0; n < 12; n++) await undefined;
    }
    now = until;
  }
  return {
    join,
    run,
    violations,
    now: () => now,
    slow(share: number) {
      slowness = share;
    },
  };
}
