import { routes } from "@agent-gateway/contract";
import type { Connectors, Manager } from "../../connectors/index.ts";
import { type Endpoint, endpoint, json } from "../endpoint.ts";

export interface ConnectorRouteDeps {
  /** Loaded by the first request. */
  connectors(): Promise<Manager>;
  test: Connectors["test"];
}

/** The owner's connectors. */
export function connectorRoutes({ connectors, test }: ConnectorRouteDeps): Endpoint[] {
  const find: NonNullable<Endpoint["find"]> = async ({ id }) => (await connectors()).require(id!);
  return [
    endpoint(routes.listConnectors, async () =>
      json({
        connectors: await (await connectors()).list(),
        capabilities: { perConnectorDefaults: true as const },
      }),
    ),
    endpoint(routes.showConnector, async ({ params }) => json(await (await connectors()).status(params.id))),
    endpoint(routes.addConnector, async ({ body }) => json(await (await connectors()).add(body), 201)),
    endpoint(
      routes.updateConnector,
      async ({ params, body }) => json(await (await connectors()).update(params.id, body)),
      { find },
    ),
    endpoint(
      routes.connectConnector,
      async ({ params, body }) => json(await (await connectors()).connect(params.id, body)),
      { find },
    ),
    endpoint(routes.receiveConnector, async ({ params, body }) =>
      json(await (await connectors()).receive(params.id, body)),
    ),
    endpoint(routes.testConnector, async ({ params }) => json(await test(params.id))),
    endpoint(
      routes.removeConnector,
      async ({ params, query }) => json(await (await connectors()).remove(params.id, query.remove)),
      { find },
    ),
  ];
}
