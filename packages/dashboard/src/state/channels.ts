import { accessRouteNames, type Delivery, type Waiting, waitingOf } from "@agent-gateway/contract";
import { signal } from "@preact/signals";
import { client } from "../api/client.ts";
import type { ChannelState, DeviceAccount, DeviceStatus } from "../api/types.ts";

export type ChannelName = ChannelState["channel"];
type Rule = "open" | "allowlist" | "disabled";

/** Who can write through a channel, or through one account of it. */
export interface Policy {
  dmPolicy: Rule;
  dmAllowlist: readonly string[];
  pairing: boolean;
  /** Absent where the channel has no groups. */
  groupPolicy?: Rule;
  groupAllowlist?: readonly string[];
  requireMention?: boolean;
}
export type PolicyChange = Partial<Pick<Policy, "dmPolicy" | "groupPolicy" | "pairing" | "requireMention">>;

/** An account of `devicechat`, with the current state of its linking. */
export type Device = DeviceAccount & { live: DeviceStatus | undefined };

/** The page's data for one agent. */
export interface Overview {
  agentId: string;
  channels: readonly ChannelState[];
  policies: Readonly<Partial<Record<ChannelName, Policy>>>;
  devices: readonly Device[];
  waiting: readonly Waiting[];
  /** Replies that may not have arrived. */
  deliveries: readonly Delivery[];
}

export const overview = signal<Overview | undefined>(undefined);
/** True while the gateway does not answer. */
export const stale = signal(false);

const accountQuery = (account: string | undefined) =>
  account === undefined ? {} : { query: { account_id: account } };

async function loadDevices(agentId: string, signal: AbortSignal | undefined): Promise<Device[]> {
  const params = { agentId };
  const { accounts } = await client.call("listDeviceAccounts", { params, signal });
  return Promise.all(
    accounts.map(async (account) => ({
      ...account,
      live: await client.call("deviceStatus", { params, signal, ...accountQuery(account.id) }),
    })),
  );
}

async function loadWaiting(
  agentId: string,
  channel: ChannelName,
  account: string | undefined,
  signal: AbortSignal | undefined,
): Promise<Waiting[]> {
  const call = { params: { agentId }, signal, ...accountQuery(account) };
  return waitingOf(channel, await client.call(accessRouteNames(channel).pending, call), account);
}

/** Everyone who asked to be let in through these channels of an agent, the first one first. */
export async function loadAllWaiting(
  agentId: string,
  channels: readonly ChannelName[],
  devices: readonly { id: string }[],
  signal?: AbortSignal,
): Promise<Waiting[]> {
  const lists = channels.flatMap((channel) =>
    channel === "devicechat"
      ? devices.map(({ id }) => loadWaiting(agentId, channel, id, signal))
      : [loadWaiting(agentId, channel, undefined, signal)],
  );
  return (await Promise.all(lists)).flat().sort((a, b) => a.since - b.since);
}

let asked = 0;
/** Changes of policies under way. */
let changing = 0;

/** Reads all that the page shows; an older answer never takes the place of a newer one, nor of a change under way. */
export async function loadOverview(agentId: string, signal?: AbortSignal): Promise<void> {
  const turn = ++asked;
  const params = { agentId };
  const [{ channels }, { agent }, { deliveries }] = await Promise.all([
    client.call("listChannels", { params, signal }),
    client.call("getAgent", { params, signal }),
    client.call("listDeliveries", { params, query: {}, signal }),
  ]);
  const on = channels.filter(({ enabled }) => enabled).map(({ channel }) => channel);
  const devices = on.includes("devicechat") ? await loadDevices(agentId, signal) : [];
  const waiting = await loadAllWaiting(agentId, on, devices, signal);
  if (turn !== asked || changing > 0) return;
  const policies = agent.channels as Partial<Record<ChannelName, Policy & { enabled: boolean }>>;
  overview.value = { agentId, channels, policies, devices, waiting, deliveries };
}

const reload = (agentId: string) => loadOverview(agentId);

/** Lets in who waits, or not; without a code there is a list to be put on. */
export async function settle(agentId: string, who: Waiting, verb: "approve" | "deny"): Promise<void> {
  const { channel, account, code, id, kind, senderId } = who;
  const params = { agentId };
  const own = account === undefined ? {} : { account_id: account };
  if (code !== null) {
    await client.call(accessRouteNames(channel)[verb], { params, body: { code, ...own } });
  } else {
    if (verb === "approve") {
      await client.call("allowInChannel", { params, body: { channel, id, kind, ...own } });
    }
    const dismissal = { params: { ...params, senderId }, ...accountQuery(account) };
    await client.call(accessRouteNames(channel).dismiss, dismissal);
  }
  await reload(agentId);
}

const SNAKE = {
  dmPolicy: "dm_policy",
  groupPolicy: "group_policy",
  pairing: "pairing",
  requireMention: "require_mention",
} as const;

/** Changes fields of the agent that begin with the channel's name. */
async function updateFields(
  agentId: string,
  channel: ChannelName,
  account: string | undefined,
  fields: Readonly<Record<string, unknown>>,
): Promise<void> {
  const named = Object.entries(fields).map(([name, value]) => [`${channel}_${name}`, value]);
  if (account !== undefined) named.push(["devicechat_account_id", account]);
  await client.call("updateAgent", { params: { agentId }, body: Object.fromEntries(named) });
}

/** Shows a change before it is saved: the page must not set a field back that has just been changed. */
function showPolicy(channel: ChannelName, account: string | undefined, change: PolicyChange): void {
  const shown = overview.value;
  if (!shown) return;
  const own = shown.policies[channel];
  const fields = Object.entries(change).map(([key, value]) => [SNAKE[key as keyof PolicyChange], value]);
  overview.value = {
    ...shown,
    policies: own ? { ...shown.policies, [channel]: { ...own, ...change } } : shown.policies,
    devices: shown.devices.map((device) =>
      device.id === account ? { ...device, ...Object.fromEntries(fields) } : device,
    ),
  };
}

/** Saves a change; afterwards the page shows what is stored, also when it was refused. */
export async function changePolicy(
  agentId: string,
  channel: ChannelName,
  account: string | undefined,
  change: PolicyChange,
): Promise<void> {
  changing++;
  showPolicy(channel, account, change);
  try {
    await savePolicy(agentId, channel, account, change);
  } catch (error) {
    changing--;
    await reload(agentId).catch(() => {});
    throw error;
  }
  changing--;
  await reload(agentId);
}

async function savePolicy(
  agentId: string,
  channel: ChannelName,
  account: string | undefined,
  change: PolicyChange,
): Promise<void> {
  const params = { agentId };
  if (channel === "botchat") await client.call("setBotchatPolicy", { params, body: change });
  else if (channel === "guildchat") await client.call("setGuildchatPolicy", { params, body: change });
  else {
    const fields = Object.entries(change).map(([key, value]) => [SNAKE[key as keyof PolicyChange], value]);
    await updateFields(agentId, channel, account, Object.fromEntries(fields));
  }
}

/** Turns a channel on or off, or connects it with its tokens. */
export async function changeChannel(
  agentId: string,
  channel: ChannelName,
  fields: Readonly<Record<string, unknown>>,
): Promise<void> {
  await updateFields(agentId, channel, undefined, fields);
  await reload(agentId);
}

export async function allow(
  agentId: string,
  channel: ChannelName,
  account: string | undefined,
  kind: "user" | "group",
  id: string,
): Promise<void> {
  const own = account === undefined ? {} : { account_id: account };
  await client.call("allowInChannel", { params: { agentId }, body: { channel, kind, id, ...own } });
  await reload(agentId);
}

/** Takes an id off a list; `others` are those that stay. */
export async function revoke(
  agentId: string,
  channel: ChannelName,
  account: string | undefined,
  kind: "user" | "group",
  id: string,
  others: readonly string[],
): Promise<void> {
  const user = { params: { agentId, userId: id } };
  if (channel === "botchat" && kind === "user") await client.call("revokeBotchatUser", user);
  else if (channel === "guildchat" && kind === "user") await client.call("revokeGuildchatUser", user);
  else if (channel === "botchat")
    await client.call("revokeBotchatGroup", { params: { agentId, groupId: id } });
  else if (channel === "guildchat")
    await client.call("revokeGuildchatGuild", { params: { agentId, guildId: id } });
  else
    await updateFields(agentId, channel, account, {
      [kind === "user" ? "dm_allowlist" : "group_allowlist"]: others,
    });
  await reload(agentId);
}

/** Sends a reply once more that may not have arrived. */
export async function sendAgain(agentId: string, deliveryId: number): Promise<void> {
  await client.call("sendDeliveryAgain", { params: { agentId, id: String(deliveryId) } });
  await reload(agentId);
}

/** Begins to link a phone; the QR code follows in the account's state. */
export async function linkDevice(agentId: string, account: string): Promise<void> {
  await client.call("linkDevice", { params: { agentId }, body: { account_id: account } });
  await reload(agentId);
}

export async function pairDevice(agentId: string, account: string, phoneNumber: string): Promise<void> {
  await client.call("pairDevice", { params: { agentId }, body: { account_id: account, phoneNumber } });
  await reload(agentId);
}

export async function unlinkDevice(agentId: string, account: string): Promise<void> {
  await client.call("unlinkDevice", { params: { agentId }, body: { account_id: account } });
  await reload(agentId);
}

export async function addDevice(agentId: string, id: string): Promise<void> {
  await client.call("createDeviceAccount", { params: { agentId }, body: { id } });
  await reload(agentId);
}

export async function removeDevice(agentId: string, accountId: string): Promise<void> {
  await client.call("deleteDeviceAccount", { params: { agentId, accountId } });
  await reload(agentId);
}
