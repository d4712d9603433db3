import { signal } from "@preact/signals";
import { client } from "../api/client.ts";
import type { Connector, TestedConnector } from "../api/types.ts";
import { loadAgents } from "./place.ts";

/** The owner's connectors in the order of the configuration; undefined until they have been read. */
export const connectors = signal<readonly Connector[] | undefined>(undefined);

/** Also reads the agents, whose records say which connectors they have. */
export async function loadConnectors(abort?: AbortSignal): Promise<void> {
  const [reply] = await Promise.all([client.call("listConnectors", { signal: abort }), loadAgents(abort)]);
  connectors.value = reply.connectors;
}

type Fields = Readonly<Record<string, unknown>>;

/** Adds a connector, or changes the one with this id. */
export async function saveConnector(id: string | undefined, fields: Fields): Promise<void> {
  // The page has no validator: the gateway judges what was typed.
  const body = fields as never;
  if (id === undefined) await client.call("addConnector", { body });
  else await client.call("updateConnector", { params: { id }, body });
  await loadConnectors();
}

export async function storeSecrets(id: string, secrets: Readonly<Record<string, string>>): Promise<void> {
  await client.call("connectConnector", { params: { id }, body: { secrets } });
  await loadConnectors();
}

/** Begins a sign-in; gives the address where the person goes on. */
export async function startSignIn(id: string): Promise<URL> {
  const { authorizeUrl } = await client.call("startConnectorOAuth", { params: { id }, body: {} });
  return new URL(authorizeUrl);
}

export const testConnector = (id: string): Promise<TestedConnector> =>
  client.call("testConnector", { params: { id } });

/** Takes what lets it in, and with `entirely` the connector itself. */
export async function removeConnector(id: string, entirely: boolean): Promise<void> {
  await client.call("removeConnector", { params: { id }, query: { remove: entirely ? "true" : "false" } });
  await loadConnectors();
}

/** Switches a connector for one agent; null leaves it to the default. */
export async function switchConnector(agentId: string, id: string, enabled: boolean | null): Promise<void> {
  const connectors = { [id]: enabled === null ? null : { enabled } };
  await client.call("updateAgent", { params: { agentId }, body: { connectors } });
  await loadAgents();
}
