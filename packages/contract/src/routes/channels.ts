import type * as z from "zod";
import type { Lazy } from "../lazy.ts";
import { route } from "../route.ts";
import * as schemas from "../schemas/channels.ts";
import { agentParams } from "../schemas/common.ts";

const path = (channel: string, rest: string) => `/api/v1/agents/:agentId/${channel}/${rest}`;
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

export const listBotchatPending = pending("botchat", schemas.botchatPending);
export const approveBotchat = settle("botchat", "approve", schemas.pairingCode);
export const denyBotchat = settle("botchat", "deny", schemas.pairingCode);
export const dismissBotchat = dismiss("botchat");
export const setBotchatPolicy = policy("botchat");
export const listBotchatUsers = list("botchat", "allowlist", "Users", schemas.userAllowlist);
export const revokeBotchatUser = revoke("botchat", "allow/:userId", "a user", schemas.userParams);
export const listBotchatGroups = list("botchat", "group/allowlist", "Groups", schemas.groupAllowlist);
export const revokeBotchatGroup = revoke("botchat", "group/allow/:groupId", "a group", schemas.groupParams);

export const listGuildchatPending = pending("guildchat", schemas.guildchatPending);
export const approveGuildchat = settle("guildchat", "approve", schemas.pairingCode);
export const denyGuildchat = settle("guildchat", "deny", schemas.pairingCode);
export const dismissGuildchat = dismiss("guildchat");
export const setGuildchatPolicy = policy("guildchat");
export const listGuildchatUsers = list("guildchat", "allowlist", "Users", schemas.userAllowlist);
export const revokeGuildchatUser = revoke("guildchat", "allow/:userId", "a user", schemas.userParams);
export const listGuildchatGuilds = list("guildchat", "guild/allowlist", "Guilds", schemas.guildAllowlist);
export const revokeGuildchatGuild = revoke(
  "guildchat",
  "guild/allow/:guildId",
  "a guild",
  schemas.guildParams,
);

export const listDevicechatPending = route({
  ...pending("devicechat", schemas.pendingSenders),
  query: schemas.accountQuery,
});
export const approveDevicechat = settle("devicechat", "approve", schemas.accountCode);
export const denyDevicechat = settle("devicechat", "deny", schemas.accountCode);
export const dismissDevicechat = route({ ...dismiss("devicechat"), query: schemas.accountQuery });

export const listCloudchatPending = pending("cloudchat", schemas.pendingSenders);
export const approveCloudchat = settle("cloudchat", "approve", schemas.pairingCode);
export const denyCloudchat = settle("cloudchat", "deny", schemas.pairingCode);
export const dismissCloudchat = dismiss("cloudchat");

export const listSigchatPending = pending("sigchat", schemas.pendingSenders);
export const approveSigchat = settle("sigchat", "approve", schemas.pairingCode);
export const denySigchat = settle("sigchat", "deny", schemas.pairingCode);
export const dismissSigchat = dismiss("sigchat");

export const listTeamchatPending = pending("teamchat", schemas.pendingSenders);
export const approveTeamchat = settle("teamchat", "approve", schemas.pairingCode);
export const denyTeamchat = settle("teamchat", "deny", schemas.pairingCode);
export const dismissTeamchat = dismiss("teamchat");
