import { accessRouteNames, routes } from "@agent-gateway/contract";
import type { Access, FileChannel, Knock } from "../../../channels/index.ts";
import type { AgentConfig } from "../../../config/index.ts";
import { type Endpoint, endpoint, json } from "../../endpoint.ts";

export interface AccessRouteDeps {
  access(): Promise<Access>;
  /** @throws GatewayError `AGENT_NOT_FOUND` */
  requireAgent(agentId: string): AgentConfig;
}

const done = () => json({ ok: true as const });

/** What both channels report of a pending knock. Every knock read from an access file has a code. */
const common = ({ code, senderId, name, firstSeen, expiresAt }: Knock) => ({
  code: code!,
  senderId,
  ...(name !== undefined && { senderName: name }),
  createdAt: firstSeen,
  expiresAt: expiresAt!,
});

function botchatView(knock: Knock) {
  const direct = knock.kind === "dm";
  return {
    ...common(knock),
    chatId: direct ? knock.chatId : knock.id,
    kind: direct ? ("dm" as const) : ("group" as const),
  };
}

function guildchatView(knock: Knock) {
  const direct = knock.kind === "dm";
  return {
    ...common(knock),
    channelId: knock.chatId,
    kind: direct ? ("dm" as const) : ("guild" as const),
    guildId: direct ? null : knock.id,
  };
}

function settled(channel: FileChannel, { kind, id, senderId }: Knock) {
  if (kind === "dm") return { ok: true as const, senderId, kind: "dm" as const };
  return channel === "botchat"
    ? { ok: true as const, senderId, kind: "group" as const, groupId: id }
    : { ok: true as const, senderId, kind: "guild" as const, guildId: id };
}

/** Routes of `botchat` and `guildchat`, which keep their access lists in the workspace. */
export function fileChannelRoutes({ access, requireAgent }: AccessRouteDeps): Endpoint[] {
  const place = (agentId: string, channel: FileChannel) => ({ agentId, channel, account: "" });
  const pending = async (agentId: string, channel: FileChannel) =>
    (await access()).pending(place(agentId, channel), requireAgent(agentId));
  const approve = async (agentId: string, channel: FileChannel, code: string) =>
    json(settled(channel, await (await access()).approve(requireAgent(agentId), channel, code)));
  const deny = async (agentId: string, channel: FileChannel, code: string) =>
    json(settled(channel, await (await access()).deny(requireAgent(agentId), channel, code)));
  const dismiss = async (agentId: string, channel: FileChannel, senderId: string) => {
    await (await access()).dismiss(place(agentId, channel), requireAgent(agentId), senderId);
    return done();
  };
  const policy = async (agentId: string, channel: FileChannel) =>
    (await access()).policyOf(place(agentId, channel), requireAgent(agentId));
  const revoke = async (agentId: string, channel: FileChannel, which: "dm" | "group", id: string) => {
    await (await access()).revoke(requireAgent(agentId), channel, which, id);
    return done();
  };

  return [
    ...(["botchat", "guildchat"] as const).flatMap((channel) => {
      const names = accessRouteNames(channel);
      return [
        endpoint(routes[names.approve], ({ params, body }) => approve(params.agentId, channel, body.code)),
        endpoint(routes[names.deny], ({ params, body }) => deny(params.agentId, channel, body.code)),
        endpoint(routes[names.dismiss], ({ params }) => dismiss(params.agentId, channel, params.senderId)),
      ];
    }),

    endpoint(routes.listBotchatPending, async ({ params }) =>
      json({ pending: (await pending(params.agentId, "botchat")).map(botchatView) }),
    ),
    endpoint(routes.setBotchatPolicy, async ({ params, body }) =>
      json({
        ok: true,
        ...(await (await access()).setPolicy(requireAgent(params.agentId), "botchat", body)),
      }),
    ),
    endpoint(routes.listBotchatUsers, async ({ params }) =>
      json({ allowFrom: (await policy(params.agentId, "botchat")).dmAllowlist }),
    ),
    endpoint(routes.revokeBotchatUser, ({ params }) =>
      revoke(params.agentId, "botchat", "dm", params.userId),
    ),
    endpoint(routes.listBotchatGroups, async ({ params }) =>
      json({ groupAllowlist: (await policy(params.agentId, "botchat")).groupAllowlist ?? [] }),
    ),
    endpoint(routes.revokeBotchatGroup, ({ params }) =>
      revoke(params.agentId, "botchat", "group", params.groupId),
    ),

    endpoint(routes.listGuildchatPending, async ({ params }) =>
      json({ pending: (await pending(params.agentId, "guildchat")).map(guildchatView) }),
    ),
    endpoint(routes.setGuildchatPolicy, async ({ params, body }) =>
      json({
        ok: true,
        ...(await (await access()).setPolicy(requireAgent(params.agentId), "guildchat", body)),
      }),
    ),
    endpoint(routes.listGuildchatUsers, async ({ params }) =>
      json({ allowFrom: (await policy(params.agentId, "guildchat")).dmAllowlist }),
    ),
    endpoint(routes.revokeGuildchatUser, ({ params }) =>
      revoke(params.agentId, "guildchat", "dm", params.userId),
    ),
    endpoint(routes.listGuildchatGuilds, async ({ params }) =>
      json({ guildAllowlist: (await policy(params.agentId, "guildchat")).groupAllowlist ?? [] }),
    ),
    endpoint(routes.revokeGuildchatGuild, ({ params }) =>
      revoke(params.agentId, "guildchat", "group", params.guildId),
    ),
  ];
}
