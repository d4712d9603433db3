import { finished } from "node:stream";
import { GatewayError, PACKAGES, type PackageName, routes } from "@agent-gateway/contract";
import type { Clock } from "../../lib/clock.ts";
import type { Packages } from "../../packages/index.ts";
import { type Endpoint, endpoint, json } from "../endpoint.ts";

export interface PackageRouteDeps {
  packages: Pick<Packages, "list" | "changelog" | "update">;
  /** Ends the gateway with the exit code that asks its supervisor for a new start. */
  restart(): void;
  clock: Clock;
}

/** The answer of an update goes out before the gateway ends, unless its reader is slower than this. */
const ANSWER_MS = 2_000;

const isPackage = (name: string | undefined): name is PackageName => PACKAGES.some((known) => known === name);

function requirePackage(name: string | undefined): PackageName {
  if (isPackage(name)) return name;
  throw new GatewayError(
    "NOT_FOUND",
    `There is no such package; the packages are ${PACKAGES.join(" and ")}.`,
  );
}

/** Versions, changelogs and updates of the gateway and of the agent CLI. */
export function packageRoutes({ packages, restart, clock }: PackageRouteDeps): Endpoint[] {
  const find = { find: ({ name }: { name?: string | undefined }) => void requirePackage(name) };
  return [
    endpoint(routes.listPackages, async ({ query }) =>
      json({ packages: await packages.list(query.refresh) }),
    ),
    endpoint(
      routes.packageChangelog,
      async ({ params, query }) => json(await packages.changelog(requirePackage(params.name), query)),
      find,
    ),
    endpoint(
      routes.updatePackage,
      async ({ params, res }) => {
        const result = await packages.update(requirePackage(params.name));
        if (result.package === "gateway" && result.updated) {
          finished(res, restart);
          clock.after(ANSWER_MS, restart);
        }
        return json(result);
      },
      find,
    ),
  ];
}
