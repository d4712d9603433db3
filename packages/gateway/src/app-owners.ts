import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { AgentConfig } from "./config/index.ts";
import { oneLine } from "./lib/one-line.ts";
import type { OwnersDeps } from "./owners/index.ts";
import type { Store } from "./store/index.ts";

const MAX_NAME_CHARS = 64;
/** Many agents may be taken in a row, and each time everything is looked through that goes on for agents. */
const APPLY_MS = 200;

/** What the owner of agents asks of the other rooms. */
interface Rooms {
  server: { recheck(): void };
  sessions: { recover(agentId?: string): Promise<unknown>; stopAgent(agentId: string): Promise<void> };
  channels: {
    recover(agentId: string | undefined, former: boolean): Promise<void>;
    recovered(): void;
    reconfigure(): Promise<void>;
    lookAgain(): void;
  };
  crons: { recover(agentId?: string): Promise<void>; dropAgent(agentId: string): Promise<unknown> };
  feed: { lookAgain(): Promise<void> };
  history: { dropOthers(agentId: string): Promise<void> };
  jobs: { recover(agentId: string): Promise<void>; dropAgent(agentId: string): void };
}

interface AppOwnersDeps extends Pick<OwnersDeps, "clock" | "log"> {
  rows: Pick<Store, "shared">;
  env: Readonly<Record<string, string | undefined>>;
  config(): {
    gateway: { cluster: { leaseMs: number } };
    agents: readonly AgentConfig[];
  };
  /** What tells this home from others, where the store is shared. */
  home: string | undefined;
  /** Once all of them are there. */
  rooms(): Rooms;
  /** Begins what is to go on for the agents that are served. */
  apply(): void;
}

/** Which agents this gateway serves, as far as others can share its store. Alone, it serves all, and writes nothing. */
export async function createAppOwners({
  rows: { shared },
  env,
  config,
  home,
  rooms,
  apply,
  ...base
}: AppOwnersDeps) {
  let recovered = false;
  let started = false;
  let cancelApply: (() => void) | undefined;
  // Alone on its store, a gateway has no use for that room.
  const open = async ({ directory }: NonNullable<Store["shared"]>) => {
    const { createOwners, ensureMarker, readMarker } = await import("./owners/index.ts");
    return createOwners({
      ...base,
      directory,
      node: {
        bootId: randomUUID(),
        name: oneLine(env.GATEWAY_NODE_NAME ?? hostname(), MAX_NAME_CHARS) ?? "gateway",
        address: env.GATEWAY_NODE_ADDRESS ?? "",
        home: home!,
      },
      leaseMs: () => config().gateway.cluster.leaseMs,
      agents: () => config().agents,
      readMarker,
      ensureMarker,
      async recover(agentId, former) {
        const { sessions, channels, crons, jobs, history } = rooms();
        await sessions.recover(agentId);
        // The notes of an earlier start are there until this one begins to send.
        await channels.recover(agentId, former && !recovered);
        await crons.recover(agentId);
        await jobs.recover(agentId);
        // What is staged is not seen by anybody, and removing it may take long.
        history.dropOthers(agentId).catch((error) => {
          base.log.warn({ err: error, agent: agentId }, "could not remove an interrupted import");
        });
      },
      onTaken() {
        if (!started) return;
        cancelApply ??= base.clock.after(APPLY_MS, () => {
          cancelApply = undefined;
          apply();
        });
      },
      async onLost(agentId) {
        const { server, sessions, channels, crons, jobs } = rooms();
        server.recheck();
        jobs.dropAgent(agentId);
        await Promise.all([sessions.stopAgent(agentId), crons.dropAgent(agentId), channels.reconfigure()]);
      },
      onReach: () => void rooms().channels.reconfigure(),
      onLook() {
        if (!started) return;
        const { channels, feed } = rooms();
        channels.lookAgain();
        // The next look tries again.
        feed.lookAgain().catch(() => {});
      },
    });
  };
  const owners = shared && (await open(shared));
  if (owners) shared.ownedBy(owners.claim);
  const serves = owners?.owns ?? (() => true);
  return {
    serves,
    connects: owners?.connects ?? (() => true),
    served: () => config().agents.filter(({ id }) => serves(id)),
    /** Takes what can be taken at once, and closes what was left open there, before anything else is accepted. */
    async recover(): Promise<void> {
      const { sessions, channels, crons } = rooms();
      if (owners) await owners.start();
      else {
        await sessions.recover();
        await channels.recover(undefined, true);
        await crons.recover();
      }
      recovered = true;
      channels.recovered();
    },
    /** The gateway serves; what is taken from now on begins at once. */
    begin(): void {
      started = true;
      if (owners) apply();
    },
    /** Takes what the configuration has gained. */
    reconfigure: async () => owners?.reconfigure(),
    /** Runs what removes an agent for good, while it is still this gateway's. */
    removing: (agentId: string, remove: () => Promise<void>) =>
      owners ? owners.removing(agentId, remove) : remove(),
    /** Frees everything; call when nothing goes on any more. */
    async close() {
      cancelApply?.();
      await owners?.close();
    },
  };
}
