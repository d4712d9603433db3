import { systemClock } from "../../lib/clock.ts";
import { silentLogger } from "../../lib/logger.ts";
import { createRuntimeFactory } from "../../runtimes/index.ts";
import { type Check, fail, ok, type Patient, warn } from "./types.ts";

/** Programs are asked for their version and login, on a possibly busy machine. */
const STATUS_MS = 10_000;

/** What each agent runs on and whether it works: program, login, tools that cannot be limited. */
export async function checkAgents({ config, env }: Patient): Promise<Check[]> {
  if (!config) return [];
  const { port } = config.gateway;
  const runtimes = createRuntimeFactory({ env, clock: systemClock, log: silentLogger, ownPort: () => port });
  const found = await Promise.all(
    config.agents.map(async (agent): Promise<Check[]> => {
      const name = `agent ${agent.id}`;
      const { type, program, version, login, problem, warnings } = await runtimes.status(agent, STATUS_MS);
      if (problem !== null) return [fail(name, problem, `Check runtime, env and allowTools of ${agent.id}.`)];
      const about = [program, version].filter((part) => part !== null).join(" ");
      const told = ok(
        name,
        [about === "" ? type : `${type}: ${about}`, LOGINS[login]].filter(Boolean).join(", "),
      );
      const fix = `Check runtime, env and allowTools of ${agent.id}.`;
      return warnings.length === 0 ? [told] : warnings.map((text) => warn(name, text, fix));
    }),
  );
  await runtimes.close();
  return found.flat();
}

const LOGINS = { ok: "logged in", missing: "not logged in", unknown: "", "not-needed": "" };
