import { GatewayError, routes } from "@agent-gateway/contract";
import { hasLevel, type Principal, reaches } from "../../auth/index.ts";
import type { CronRoom } from "../../crons/index.ts";
import { NOT_HERE, NOT_HERE_HEADERS } from "../../lib/not-here.ts";
import { type Endpoint, endpoint, json } from "../endpoint.ts";

export interface CronRouteDeps {
  room(): Promise<CronRoom>;
  agentExists(agentId: string): boolean;
  /** False for an agent of another gateway. */
  serves(agentId: string): boolean;
}

const outOfReach = () => new GatewayError("FORBIDDEN", "This key has no access to this agent.");

/** Scheduled jobs. */
export function cronRoutes({ room, agentExists, serves }: CronRouteDeps): Endpoint[] {
  const reached = ({ agents }: Principal) => (agents === "*" ? undefined : [...agents]);
  const requireAgent = (agentId: string, principal: Principal) => {
    if (!agentExists(agentId)) throw new GatewayError("AGENT_NOT_FOUND");
    if (!reaches(principal, agentId)) throw outOfReach();
  };
  const requireHere = (agentId: string) => {
    if (agentExists(agentId) && !serves(agentId))
      throw new GatewayError("UNAVAILABLE", NOT_HERE, { headers: NOT_HERE_HEADERS });
  };
  const requireCommands = (principal: Principal) => {
    if (!hasLevel(principal, "admin"))
      throw new GatewayError("FORBIDDEN", "Jobs that run commands need a key with the level admin.");
  };
  type Find = NonNullable<Endpoint["find"]>;
  const jobOf = async ({ id }: Parameters<Find>[0], principal: Principal) => {
    const job = await (await room()).find(id!);
    if (!job) throw new GatewayError("NOT_FOUND", "There is no such job.");
    if (!reaches(principal, job.agentId)) throw outOfReach();
    return job;
  };
  const look: { find: Find } = { find: async (...about) => void (await jobOf(...about)) };
  const change: { find: Find } = {
    async find(params, principal) {
      const { agentId, type } = await jobOf(params, principal);
      if (type === "command") requireCommands(principal);
      requireHere(agentId);
    },
  };

  return [
    endpoint(routes.listCrons, async ({ query: { agent }, principal }) => {
      if (agent !== undefined) requireAgent(agent, principal);
      const agents = agent === undefined ? reached(principal) : [agent];
      return json({ jobs: await (await room()).list(agents) });
    }),
    endpoint(routes.cronsStatus, async ({ principal }) =>
      json(await (await room()).status(reached(principal))),
    ),
    endpoint(routes.createCron, async ({ body, principal }) => {
      const crons = await room();
      const { command } = crons.draft(body);
      requireAgent(body.agentId, principal);
      if (command !== null) requireCommands(principal);
      requireHere(body.agentId);
      return json({ job: await crons.create(body, "key") }, 201);
    }),
    endpoint(routes.getCron, async ({ params }) => json({ job: await (await room()).show(params.id) }), look),
    endpoint(
      routes.updateCron,
      async ({ params, body, principal }) => {
        const mayCommand = hasLevel(principal, "admin");
        return json({ job: await (await room()).update(params.id, body, { mayCommand }) });
      },
      change,
    ),
    endpoint(
      routes.deleteCron,
      async ({ params }) => {
        await (await room()).remove(params.id);
        return json({ ok: true as const });
      },
      change,
    ),
    endpoint(
      routes.runCron,
      async ({ params, query }) => {
        const crons = await room();
        if (query.wait) return json({ run: await crons.run(params.id) });
        return json({ run: await crons.beginRun(params.id) }, 202);
      },
      change,
    ),
    endpoint(
      routes.listCronRuns,
      async ({ params, query }) => json({ runs: await (await room()).runs(params.id, query.limit) }),
      look,
    ),
  ];
}
