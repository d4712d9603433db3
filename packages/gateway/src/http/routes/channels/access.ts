import { accessRouteNames, routes, SENDER_CHANNELS } from "@agent-gateway/contract";
import type { Knock, SenderChannel } from "../../../channels/index.ts";
import { type Endpoint, endpoint, json } from "../../endpoint.ts";
import { type AccessRouteDeps, fileChannelRoutes } from "./file-access.ts";

const done = () => json({ ok: true as const });
const DEFAULT_ACCOUNT = "default";

function senderView({ kind, id, name, code, firstSeen, lastSeen, count }: Knock) {
  const direct = kind === "dm";
  return {
    userId: id,
    ...(direct && name !== undefined && { displayName: name }),
    kind: direct ? ("user" as const) : kind,
    ...(code !== undefined && { code }),
    firstSeen,
    lastSeen,
    count,
  };
}

/** What is reported of a settled knock: the id that it asked for, which for a group is the group's. */
function settled({ kind, id }: Knock) {
  return kind === "dm"
    ? { ok: true as const, senderId: id, kind: "user" as const }
    : { ok: true as const, senderId: id, kind, groupId: id };
}

/** Pairing, policies and allowlists of all channels. */
export function accessRoutes({ access, requireAgent }: AccessRouteDeps): Endpoint[] {
  const senders = async (agentId: string, channel: SenderChannel, account = "") => {
    const waiting = await (await access()).pending({ agentId, channel, account }, requireAgent(agentId));
    return json({ senders: waiting.map(senderView) });
  };
  const approve = async (agentId: string, channel: SenderChannel, code: string, account?: string) =>
    json(settled(await (await access()).approve(requireAgent(agentId), channel, code, account)));
  const deny = async (agentId: string, channel: SenderChannel, code: string, account?: string) =>
    json(settled(await (await access()).deny(requireAgent(agentId), channel, code, account)));
  const dismiss = async (
    { agentId, senderId }: { agentId: string; senderId: string },
    channel: SenderChannel,
    account = "",
  ) => {
    await (await access()).dismiss({ agentId, channel, account }, requireAgent(agentId), senderId);
    return done();
  };

  return [
    ...fileChannelRoutes({ access, requireAgent }),

    endpoint(routes.listDevicechatPending, ({ params, query }) =>
      senders(params.agentId, "devicechat", query.account_id ?? DEFAULT_ACCOUNT),
    ),
    endpoint(routes.approveDevicechat, ({ params, body }) =>
      approve(params.agentId, "devicechat", body.code, body.account_id),
    ),
    endpoint(routes.denyDevicechat, ({ params, body }) =>
      deny(params.agentId, "devicechat", body.code, body.account_id),
    ),
    endpoint(routes.dismissDevicechat, ({ params, query }) =>
      dismiss(params, "devicechat", query.account_id ?? DEFAULT_ACCOUNT),
    ),

    ...SENDER_CHANNELS.flatMap((channel) => {
      const names = accessRouteNames(channel);
      return [
        endpoint(routes[names.pending], ({ params }) => senders(params.agentId, channel)),
        endpoint(routes[names.approve], ({ params, body }) => approve(params.agentId, channel, body.code)),
        endpoint(routes[names.deny], ({ params, body }) => deny(params.agentId, channel, body.code)),
        endpoint(routes[names.dismiss], ({ params }) => dismiss(params, channel)),
      ];
    }),
  ];
}
