import type * as z from "zod";
import type { Lazy } from "../lazy.ts";
import { route } from "../route.ts";
import * as schemas from "../schemas/channels.ts";
import { agentParams } from "../schemas/common.ts";

/** Where a channel's routes are; documented with the channel's name filled in. */
const path = (channel: string, rest: string) =>
  "/api/v1/agents/:agentId/:channel/".replace(":channel", channel) + rest;
const admin = { auth: "admin", tag: "channels" } as const;
/** Routes that write to the access file or the configuration can find it broken. */
const WRITES = ["CONFLICT"] as const;

/** One command for all channels; its channel argument selects the route. */
const command = (channel: string, verb: string, summary: string, ...more: string[]) => ({
  noun: "channels",
  verb,
  args: ["agentId", "channel", ...more],
  fixed: { channel },
  summary,
  ...(channel === "devicechat" && { flags: { account: "account_id" } }),
});

const pending = <R extends Lazy<z.ZodType>>(channel: string, reply: R) =>
  route({
    method: "GET",
    path: path(channel, "pending"),
    ...admin,
    summary: `List pending pairing requests in ${channel}.`,
    params: agentParams,
    responses: { 200: reply },
    cli: command(channel, "pending", "List pending pairing requests."),
  });

const dismiss = (channel: string) =>
  route({
    method: "DELETE",
    path: path(channel, "pending/:senderId"),
    ...admin,
    summary: `Remove a pending request in ${channel}, by the id of the sender or group; they may ask again.`,
    params: schemas.senderParams,
    responses: { 200: schemas.done },
    errors: WRITES,
    cli: command(channel, "dismiss", "Remove a pending request, by id; they may ask again.", "senderId"),
  });

const settle = <B extends Lazy<z.ZodType>>(channel: string, verb: "approve" | "deny", body: B) =>
  route({
    method: "POST",
    path: path(channel, verb),
    ...admin,
    summary: `${verb === "approve" ? "Approve" : "Deny"} a pairing code in ${channel}.`,
    params: agentParams,
    body,
    responses: { 200: schemas.settledKnock },
    errors: ["NOT_FOUND", ...WRITES],
    cli: command(channel, verb, `${verb === "approve" ? "Approve" : "Deny"} a pairing code.`, "code"),
  });

const policy = (channel: string) =>
  route({
    method: "PATCH",
    path: path(channel, "policy"),
    ...admin,
    summary: `Change who may write through ${channel}.`,
    params: agentParams,
    body: schemas.policyPatch,
    responses: { 200: schemas.policyReply },
    errors: WRITES,
    cli: command(channel, "policy", "Change who may write."),
  });

const list = <R extends Lazy<z.ZodType>>(channel: string, rest: string, what: string, reply: R) =>
  route({
    method: "GET",
    path: path(channel, rest),
    ...admin,
    summary: `List the ${what.toLowerCase()} that may write through ${channel}.`,
    params: agentParams,
    responses: { 200: reply },
    cli: command(
      channel,
      what === "Users" ? "users" : "groups",
      what === "Users" ? "List the users that may write." : "List the groups or servers that may write.",
    ),
  });

const revoke = <P extends Lazy<z.ZodObject<z.ZodRawShape>>>(
  channel: string,
  rest: string,
  what: string,
  params: P,
) =>
  route({
    method: "DELETE",
    path: path(channel, rest),
    ...admin,
    summary: `Remove ${what} from ${channel}'s list.`,
    params,
    responses: { 200: schemas.done },
    errors: WRITES,
    cli: command(
      channel,
      what === "a user" ? "revoke" : "revoke-group",
      what === "a user" ? "Remove a user from the list." : "Remove a group or server from the list.",
      rest.slice(rest.indexOf(":") + 1),
    ),
  });

const capital = <C extends string>(channel: C) =>
  `${channel.charAt(0).toUpperCase()}${channel.slice(1)}` as Capitalize<C>;

/** Names of the routes that every channel has. */
export const accessRouteNames = <C extends string>(channel: C) => {
  const name = capital(channel);
  return {
    pending: `list${name}Pending`,
    approve: `approve${name}`,
    deny: `deny${name}`,
    dismiss: `dismiss${name}`,
  } as const;
};
type Verb = keyof ReturnType<typeof accessRouteNames>;
type Name<C extends string, V extends Verb> = ReturnType<typeof accessRouteNames<C>>[V];

/** The route of each of these channels, by its name. */
const each = <const C extends string, V extends Verb, D>(
  verb: V,
  channels: readonly C[],
  declare: (channel: C) => D,
) =>
  Object.fromEntries(channels.map((channel) => [accessRouteNames(channel)[verb], declare(channel)])) as {
    [K in C as Name<K, V>]: D;
  };

/** Channels whose list of senders who wait is kept by the gateway; `devicechat` has one for each account. */
export const SENDER_CHANNELS = ["cloudchat", "sigchat", "teamchat"] as const;
const UNDIVIDED = ["botchat", "guildchat", ...SENDER_CHANNELS] as const;

export const accessRoutes = {
  ...each("pending", ["botchat"], (channel) => pending(channel, schemas.botchatPending)),
  ...each("pending", ["guildchat"], (channel) => pending(channel, schemas.guildchatPending)),
  ...each("pending", SENDER_CHANNELS, (channel) => pending(channel, schemas.pendingSenders)),
  ...each("pending", ["devicechat"], (channel) =>
    route({ ...pending(channel, schemas.pendingSenders), query: schemas.accountQuery }),
  ),
  ...each("approve", UNDIVIDED, (channel) => settle(channel, "approve", schemas.pairingCode)),
  ...each("approve", ["devicechat"], (channel) => settle(channel, "approve", schemas.accountCode)),
  ...each("deny", UNDIVIDED, (channel) => settle(channel, "deny", schemas.pairingCode)),
  ...each("deny", ["devicechat"], (channel) => settle(channel, "deny", schemas.accountCode)),
  ...each("dismiss", UNDIVIDED, dismiss),
  ...each("dismiss", ["devicechat"], (channel) =>
    route({ ...dismiss(channel), query: schemas.accountQuery }),
  ),

  setBotchatPolicy: policy("botchat"),
  listBotchatUsers: list("botchat", "allowlist", "Users", schemas.userAllowlist),
  revokeBotchatUser: revoke("botchat", "allow/:userId", "a user", schemas.userParams),
  listBotchatGroups: list("botchat", "group/allowlist", "Groups", schemas.groupAllowlist),
  revokeBotchatGroup: revoke("botchat", "group/allow/:groupId", "a group", schemas.groupParams),

  setGuildchatPolicy: policy("guildchat"),
  listGuildchatUsers: list("guildchat", "allowlist", "Users", schemas.userAllowlist),
  revokeGuildchatUser: revoke("guildchat", "allow/:userId", "a user", schemas.userParams),
  listGuildchatGuilds: list("guildchat", "guild/allowlist", "Guilds", schemas.guildAllowlist),
  revokeGuildchatGuild: revoke("guildchat", "guild/allow/:guildId", "a guild", schemas.guildParams),
};
