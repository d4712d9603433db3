import {
  type Access,
  accountsOf,
  type ChannelPlace,
  type Channels,
  createDeviceAccounts,
  type DeviceAdapter,
  replyTool,
} from "./channels/index.ts";
import type { AgentConfig, ConfigStore, Paths } from "./config/index.ts";
import { routes } from "./http/index.ts";
import type { Clock } from "./lib/clock.ts";
import type { Media } from "./media/index.ts";
import type { GatewayTool } from "./runtimes/index.ts";

interface Deps {
  store: ConfigStore;
  paths: Paths;
  clock: Clock;
  channels: Channels;
  media: Pick<Media, "keepFile">;
  access(): Promise<Access>;
  requireAgent(agentId: string): AgentConfig;
  takeSpace(bytes?: number): void;
}

const placeOf = (agentId: string, account: string): ChannelPlace => ({
  agentId,
  channel: "devicechat",
  account,
});

/** The linked devices of agents: their state, and the routes that link them and send over them. */
export function createAppDevices(deps: Deps) {
  const { store, paths, clock, channels, media, access, requireAgent, takeSpace } = deps;
  const findDevice = (id: string, account: string) =>
    channels.adapter(placeOf(id, account)) as DeviceAdapter | undefined;
  const send = routes.createDeviceSend({
    clock,
    findDevice,
    access,
    sendNow: channels.sendNow,
    lastInboundAccount: (id, jid) => channels.lastInboundAccount(id, "devicechat", jid),
    roots: (entry) => [entry.workspace, paths.mediaDir(entry.id)],
    takeSpace,
    keepFile: async (id, file, name) => {
      const kept = await media.keepFile(id, file, name);
      return { path: kept.path, mime: kept.mime, name: kept.name };
    },
    split: (text) => channels.split("devicechat", text),
  });
  return {
    /** `devicechat_reply`, for an agent that has the channel. */
    tools: (agentId: string): GatewayTool[] =>
      requireAgent(agentId).devicechat?.enabled
        ? [replyTool((body) => send(requireAgent(agentId), body))]
        : [],
    accountsOf: (agent: AgentConfig) =>
      accountsOf(agent, (account) => findDevice(agent.id, account)?.status()),
    endpoints: routes.deviceRoutes({
      accounts: createDeviceAccounts(store),
      requireAgent,
      findDevice,
      send,
      device: async (id, account) =>
        (await channels.requireAdapter(requireAgent(id), placeOf(id, account))) as DeviceAdapter | undefined,
      dropDevice: (id, account) => channels.dropAdapter(placeOf(id, account)),
      access,
    }),
  };
}
