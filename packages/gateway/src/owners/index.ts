import { type Clock, sleep } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import type { Claim, Directory, NodeEntry, Placement, SeenNode } from "../store/index.ts";
import { createJudge, GAP_MS } from "./judge.ts";
import { createKin } from "./kin.ts";
import { BEAT_MS, createLease } from "./lease.ts";
import { MARKER } from "./marker.ts";

export { ensureMarker, readMarker } from "./marker.ts";

/** What this room needs to know of an agent. */
interface OwnedAgent {
  id: string;
  workspace: string;
}

export interface OwnersDeps {
  directory: Directory;
  node: Omit<NodeEntry, "leaseMs">;
  clock: Clock;
  log: Logger;
  leaseMs(): number;
  agents(): readonly OwnedAgent[];
  readMarker(workspace: string): Promise<string | undefined>;
  ensureMarker(workspace: string): Promise<string | undefined>;
  /**
   * Closes what the last owner of an agent left open; `former` when that was an earlier start on the same home. Runs
   * before anything else happens with the agent.
   */
  recover(agentId: string, former: boolean): Promise<void>;
  /** An agent can be served from now on. */
  onTaken(agentId: string): void;
  /** An agent must not be served any more; resolves when nothing of it goes on here. */
  onLost(agentId: string): Promise<void>;
  /** Called after each look while others are registered: they may have stored something for agents of this one. */
  onLook(): void;
  /** What {@link Owners.connects} says has changed for agents that are still this gateway's. */
  onReach(): void;
}

const SILENT = Symbol("no answer");

interface Tenure extends Claim {
  /** Recovery is done. */
  ready: boolean;
  /** The lease was not renewed in time: others may be about to take the agent. */
  doubted: boolean;
  ended: boolean;
}

/** Agents that are taken at the same time. */
const TAKEN_AT_ONCE = 8;
/** A workspace that has not answered by then does not hold up the other agents. */
const MARKER_MS = 1_000;
/** Looks of a start that wait for a gateway which may be an earlier start on this home. */
const UNCLEAR_LOOKS = 4;
/** By then, whoever read an old counter has taken what it wanted, or has read the new one. */
const CLEAR_MS = 10_000;
/** A gateway that has been silent for this long is forgotten, with what it still owns. */
const FORGET_MS = 600_000;

/** Which agents this gateway owns, among all that share its store. */
export function createOwners(deps: OwnersDeps) {
  const { directory, node, clock, log } = deps;
  const judge = createJudge();
  const kin = createKin(node.home, ({ name, bootId }) =>
    log.error(
      { node: name, bootId },
      "another gateway runs on a copy of this home: it is not one of the starts on this home, and its agents are left to it. Give the copy a home of its own: stop it, remove run/home.json from it, and start it again",
    ),
  );
  const tenures = new Map<string, Tenure>();
  /** Agents that were lost, until nothing of them goes on here. */
  const leaving = new Map<string, Promise<void>>();
  const told = new Map<string, string>();
  /** Markers that are being read: a folder on a network may hang, and every further try would take a thread. */
  const reading = new Set<string>();
  /** Agents that are being removed for good. */
  const removing = new Set<string>();
  /** Removed agents whose workspace the store still knows. */
  const unforgotten = new Set<string>();
  let others = false;
  /** When the lease was renewed again, while there are doubts. */
  let renewedAt: number | undefined;
  let storeWorks = true;
  let lookWorks = true;
  let closed = false;
  let cancelLook = () => {};
  let looking: Promise<void> = Promise.resolve();

  const lease = createLease({
    clock,
    leaseMs: deps.leaseMs,
    beat: (leaseMs) => directory.beat({ ...node, leaseMs }),
    shared: () => others,
    onOver: () => endAll("could not renew its lease in time"),
    onDoubt() {
      renewedAt = undefined;
      for (const tenure of tenures.values()) tenure.doubted = true;
      deps.onReach();
    },
    onBeat(error) {
      if (error === undefined) renewedAt ??= clock.elapsed();
      if (storeWorks === (error === undefined)) return;
      storeWorks = error === undefined;
      if (!storeWorks) log.warn({ err: error }, "could not renew the lease; trying again");
    },
  });

  function end(tenure: Tenure, why: string): void {
    if (tenure.ended) return;
    tenure.ended = true;
    const { agentId } = tenure;
    if (tenures.get(agentId) === tenure) tenures.delete(agentId);
    log.warn({ agent: agentId, fence: tenure.fence }, `gave up an agent: this gateway ${why}`);
    const left = deps
      .onLost(agentId)
      .catch((error) => log.error({ err: error, agent: agentId }, "could not end everything of an agent"))
      .finally(() => leaving.delete(agentId));
    leaving.set(agentId, left);
  }
  const endAll = (why: string) => {
    for (const tenure of [...tenures.values()]) end(tenure, why);
  };

  const begin = (agentId: string, fence: number): Tenure => {
    const tenure: Tenure = {
      agentId,
      bootId: node.bootId,
      fence,
      ready: false,
      doubted: false,
      ended: false,
      holds: () => !tenure.ended && lease.good(),
      reaches: () => !tenure.ended && !tenure.doubted && lease.fresh(),
      refused: () => end(tenure, "no longer owns it"),
    };
    tenures.set(agentId, tenure);
    return tenure;
  };

  /** Tells once why an agent cannot be taken. */
  const tell = (agentId: string, why: string) => {
    if (told.get(agentId) === why) return;
    told.set(agentId, why);
    log.warn({ agent: agentId }, why);
  };

  /** What is read of an agent's workspace, unless it takes too long. */
  function answered(
    { workspace }: OwnedAgent,
    read: OwnersDeps["readMarker"],
  ): Promise<string | undefined | typeof SILENT> {
    if (reading.has(workspace)) return Promise.resolve(SILENT);
    reading.add(workspace);
    const { promise: limit, resolve } = Promise.withResolvers<typeof SILENT>();
    const cancel = clock.after(MARKER_MS, () => resolve(SILENT));
    const found = read(workspace).finally(() => {
      reading.delete(workspace);
      cancel();
    });
    return Promise.race([found, limit]);
  }

  /** The id of the workspace if it is the one that the store knows. */
  async function workspaceOf(
    agent: OwnedAgent,
    placement: Placement | undefined,
  ): Promise<string | undefined> {
    const known = placement?.workspace ?? undefined;
    const found = await answered(agent, known === undefined ? deps.ensureMarker : deps.readMarker);
    if (found === SILENT) {
      tell(agent.id, "does not serve this agent: the folder of its workspace does not answer");
      return undefined;
    }
    if (found !== undefined && (known === undefined || found === known)) return found;
    tell(
      agent.id,
      known === undefined
        ? `does not serve this agent: ${MARKER} in its workspace cannot be written`
        : `does not serve this agent: its workspace is not the one that the store knows; if it is the right folder, its file ${MARKER} has to contain ${known}`,
    );
    return undefined;
  }

  async function take(agent: OwnedAgent, placement: Placement | undefined, former: boolean): Promise<void> {
    const workspace = await workspaceOf(agent, placement);
    if (workspace === undefined || closed || !lease.good()) return;
    const fence = await directory.take(agent.id, { bootId: node.bootId, workspace }, placement);
    if (fence === undefined || closed || tenures.has(agent.id)) return;
    told.delete(agent.id);
    const tenure = begin(agent.id, fence);
    try {
      await deps.recover(agent.id, former);
    } catch (error) {
      log.error({ err: error, agent: agent.id }, "could not recover an agent; trying again");
      // The next look finds the agent placed here, and takes it anew.
      return end(tenure, "could not recover it");
    }
    if (!tenure.holds()) return end(tenure, "could not renew its lease in time");
    tenure.ready = true;
    log.info({ agent: agent.id, fence, from: placement?.bootId ?? null }, "took an agent");
    deps.onTaken(agent.id);
  }

  /** An earlier start on the same home. */
  const isFormer = ({ bootId }: SeenNode) => kin.isFormer(bootId);

  async function lookOnce(): Promise<void> {
    for (const agentId of unforgotten) await forget(agentId);
    const sent = clock.elapsed();
    const { nodes, placements } = await directory.look();
    const got = clock.elapsed();
    const silent = judge.read(nodes, sent, got);
    if (closed) return;
    kin.read(
      nodes.filter(({ bootId }) => bootId !== node.bootId),
      silent,
    );
    others = nodes.some((other) => other.bootId !== node.bootId && !isFormer(other));
    lease.check();
    const placed = new Map(placements.map((placement) => [placement.agentId, placement]));
    for (const tenure of [...tenures.values()]) {
      if ((placed.get(tenure.agentId)?.fence ?? 0) > tenure.fence) end(tenure, "no longer owns it");
    }
    clear(sent);
    const formers = new Set(nodes.filter(isFormer).map(({ bootId }) => bootId));
    const living = nodes.filter(
      (other) =>
        !isFormer(other) && (silent.get(other.bootId) ?? 0) < Math.max(deps.leaseMs(), other.leaseMs),
    );
    const owners = new Set(living.map(({ bootId }) => bootId));
    owners.delete(node.bootId);
    const agents = deps.agents();
    const free = agents.filter(({ id }) => {
      const owner = placed.get(id)?.bootId ?? node.bootId;
      return !tenures.has(id) && !leaving.has(id) && !owners.has(owner);
    });
    for (let at = 0; at < free.length && lease.good(); at += TAKEN_AT_ONCE) {
      // Who was dead then may have come back.
      if (clock.elapsed() - got > GAP_MS) break;
      const some = free.slice(at, at + TAKEN_AT_ONCE);
      await Promise.all(
        some.map((agent) => {
          const placement = placed.get(agent.id);
          return tryToTake(agent, placement, formers.has(placement?.bootId ?? ""));
        }),
      );
    }
    const kept = new Set([...agents.map(({ id }) => id), ...removing]);
    for (const tenure of [...tenures.values()]) if (!kept.has(tenure.agentId)) await release(tenure);
    for (const { agentId, bootId } of placements) {
      // The store did not answer when it was to be freed.
      if (bootId === node.bootId && !kept.has(agentId) && !tenures.has(agentId) && !leaving.has(agentId))
        await directory.free(agentId, bootId);
    }
    for (const other of nodes) {
      if (!isFormer(other) && silent.get(other.bootId)! < FORGET_MS) continue;
      await directory.leave(other.bootId);
      kin.left(other.bootId);
    }
    if (others) deps.onLook();
  }
  /** Ends doubts after a reading that was asked for at `sent`, and shows who owns what. */
  function clear(sent: number): void {
    const doubted = [...tenures.values()].filter((tenure) => tenure.doubted);
    if (doubted.length === 0 || renewedAt === undefined || !lease.fresh()) return;
    if (sent < renewedAt + (others ? CLEAR_MS : 0)) return;
    for (const tenure of doubted) tenure.doubted = false;
    deps.onReach();
  }
  const tryToTake = (agent: OwnedAgent, placement: Placement | undefined, former: boolean) =>
    take(agent, placement, former).catch((error) =>
      log.warn({ err: error, agent: agent.id }, "could not take an agent; trying again"),
    );

  async function release(tenure: Tenure): Promise<void> {
    end(tenure, "has it no more in its configuration");
    await leaving.get(tenure.agentId);
    await directory.free(tenure.agentId, node.bootId);
  }
  async function forget(agentId: string): Promise<void> {
    await directory.free(agentId, node.bootId, { forget: true });
    unforgotten.delete(agentId);
  }

  const look = (): Promise<void> => {
    cancelLook();
    const began = clock.elapsed();
    looking = lookOnce()
      .then(() => {
        lookWorks = true;
      })
      .catch((error) => {
        if (!closed && lookWorks)
          log.warn({ err: error }, "could not look who owns the agents; trying again");
        lookWorks = false;
      })
      .finally(() => {
        cancelLook();
        if (closed) return;
        cancelLook = clock.after(Math.max(BEAT_MS / 4, began + BEAT_MS - clock.elapsed()), () => void look());
      });
    return looking;
  };

  let nextLook: Promise<void> | undefined;
  /** Looks once more, after the look under way; resolves when that is done. */
  const lookAgain = (): Promise<void> => {
    nextLook ??= looking.then(() => {
      nextLook = undefined;
      return closed ? undefined : look();
    });
    return nextLook;
  };

  return {
    /** Registers this gateway and takes what it may take at once. */
    async start(): Promise<void> {
      await lease.start();
      await look();
      for (let looks = 0; looks < UNCLEAR_LOOKS && kin.isUnclear() && !closed; looks++) {
        await sleep(clock, BEAT_MS);
        await look();
      }
    },
    /** Takes what the configuration has gained; resolves when that is done, or has failed for now. */
    reconfigure: lookAgain,
    /** True while this gateway serves the agent. */
    owns: (agentId: string): boolean => {
      const tenure = tenures.get(agentId);
      return tenure?.ready === true && tenure.holds();
    },
    /**
     * True while this gateway may hold connections for the agent. Alone on its store, it keeps an agent when it cannot
     * renew its lease; but others may have come that it cannot see.
     */
    connects: (agentId: string): boolean => {
      const tenure = tenures.get(agentId);
      return tenure?.ready === true && tenure.reaches();
    },
    /** What units of the agent carry; undefined while it is not this gateway's. */
    claim: (agentId: string): Claim | undefined => tenures.get(agentId),
    /**
     * Runs what removes an agent for good; until it ends, the agent is still this gateway's. One that is made later under
     * its id has another workspace.
     */
    async removing(agentId: string, remove: () => Promise<void>): Promise<void> {
      removing.add(agentId);
      try {
        await remove();
      } finally {
        removing.delete(agentId);
        if (!deps.agents().some(({ id }) => id === agentId)) {
          unforgotten.add(agentId);
          const tenure = tenures.get(agentId);
          if (tenure) end(tenure, "has removed it");
          await leaving.get(agentId);
          // The next look tries again.
          await forget(agentId).catch(() => {});
        }
      }
    },
    /** Frees everything, so that others can take it at once. Call when nothing goes on any more. */
    async close(): Promise<void> {
      closed = true;
      cancelLook();
      lease.close();
      for (const tenure of tenures.values()) tenure.ended = true;
      tenures.clear();
      await directory.leave(node.bootId);
    },
  };
}
export type Owners = ReturnType<typeof createOwners>;
