import { GatewayError, routes } from "@agent-gateway/contract";
import {
  accountsOf,
  type DeviceAccounts,
  type DeviceAdapter,
  deviceAccounts,
  noAccount,
  onlyAccount,
} from "../../../channels/index.ts";
import type { AgentConfig } from "../../../config/index.ts";
import { type Endpoint, endpoint, json } from "../../endpoint.ts";
import { accountNamed, type DeviceSend, type DeviceSendDeps } from "./device-send.ts";

export interface DeviceRouteDeps extends Pick<DeviceSendDeps, "access" | "findDevice"> {
  send: DeviceSend;
  accounts: DeviceAccounts;
  /** @throws GatewayError `AGENT_NOT_FOUND` */
  requireAgent(agentId: string): AgentConfig;
  /** Creates and supervises the adapter of an account that has none; undefined when it cannot be created. */
  device(agentId: string, account: string): Promise<DeviceAdapter | undefined>;
  /** Ends an account's connection and drops its adapter. */
  dropDevice(agentId: string, account: string): Promise<void>;
}

const notStarted = () =>
  new GatewayError("INTERNAL", "Could not start the channel; see the log for the reason.");

/** Linking, accounts and sending of the linked-device channel. */
export function deviceRoutes(deps: DeviceRouteDeps): Endpoint[] {
  const { accounts, requireAgent, device, findDevice, send } = deps;

  /** The requested account: the agent's first when none is named. */
  const accountOf = (agentId: string, named: string | undefined): string => {
    const agent = requireAgent(agentId);
    return named === undefined ? deviceAccounts(agent)[0]! : accountNamed(agent, named);
  };
  const list = (agentId: string) =>
    accountsOf(requireAgent(agentId), (account) => findDevice(agentId, account)?.status());

  /** The adapter to link with; an agent that never had the channel gets one. */
  const linkable = async (agentId: string, account: string): Promise<DeviceAdapter> => {
    const { devicechat } = requireAgent(agentId);
    if (devicechat?.enabled === false) {
      throw new GatewayError("CONFLICT", "The channel is turned off; turn it on first.");
    }
    if (!devicechat) await accounts.enable(agentId);
    const adapter = await device(agentId, account);
    if (!adapter) throw notStarted();
    return adapter;
  };

  return [
    endpoint(routes.deviceStatus, ({ params, query }) => {
      const account = accountOf(params.agentId, query.account_id);
      const status = findDevice(params.agentId, account)?.status();
      return json({ account_id: account, ...(status ?? { status: "unlinked" as const, loggedOut: false }) });
    }),
    endpoint(routes.linkDevice, async ({ params, body }) => {
      const account = accountOf(params.agentId, body?.account_id);
      await (await linkable(params.agentId, account)).link();
      return json({ ok: true as const, account_id: account });
    }),
    endpoint(routes.pairDevice, async ({ params, body }) => {
      const account = accountOf(params.agentId, body.account_id);
      const adapter = await linkable(params.agentId, account);
      const pairingCode = await adapter.requestPairingCode(body.phoneNumber);
      return json({ pairingCode, account_id: account });
    }),
    endpoint(routes.unlinkDevice, async ({ params, body }) => {
      const account = accountOf(params.agentId, body?.account_id);
      const adapter = await device(params.agentId, account);
      if (!adapter) throw notStarted();
      await adapter.unlink();
      return json({ ok: true as const, account_id: account });
    }),
    endpoint(routes.sendThroughDevice, async ({ params, body }) => {
      await send(requireAgent(params.agentId), body);
      return json({ ok: true as const });
    }),
    endpoint(routes.listDeviceAccounts, ({ params }) => json({ accounts: list(params.agentId) })),
    endpoint(routes.createDeviceAccount, async ({ params: { agentId }, body }) => {
      await accounts.add(agentId, body.id, body.label ?? null);
      const all = list(agentId);
      return json({ account: all.find(({ id }) => id === body.id)!, accounts: all }, 201);
    }),
    endpoint(routes.deleteDeviceAccount, async ({ params: { agentId, accountId } }) => {
      const agent = requireAgent(agentId);
      const known = deviceAccounts(agent);
      if (!known.includes(accountId)) throw noAccount();
      if (known.length === 1) throw onlyAccount();
      const access = await deps.access();
      await access.forget({ agentId, channel: "devicechat", account: accountId }, agent);
      const adapter = await device(agentId, accountId);
      if (!adapter) throw notStarted();
      await adapter.unlink();
      await accounts.remove(agentId, accountId);
      await deps.dropDevice(agentId, accountId);
      return json({ ok: true as const, accounts: list(agentId) });
    }),
  ];
}
