import * as z from "zod";
import { lazy } from "../lazy.ts";
import { MAX_ACCOUNT_ID_CHARS, MAX_LABEL_CHARS, SECRET } from "../limits.ts";
import { CHANNEL_IDS } from "./channel-ids.ts";

/** Tokens and secrets from Telegram, Discord, LINE and Slack are one word of ASCII. */
const secret = lazy(() =>
  z
    .string()
    .trim()
    .regex(SECRET, { error: "must be 1-1000 printable ASCII characters without spaces" })
    .nullable()
    .optional()
    .describe("Stored in the agent's .env and never shown; null clears it."),
);
const url = lazy(() =>
  z
    .string()
    .max(500)
    .refine((text) => URL.canParse(text) && /^(?:https?|wss?):$/.test(new URL(text).protocol), {
      error: "must be an http(s) or ws(s) URL",
    })
    .nullable()
    .optional()
    .describe("URL of the provider's API, if you run your own server; admin keys only."),
);
const flag = (what: string) => z.boolean().nullable().optional().describe(what);
const ids = ({ pattern, error }: { pattern: RegExp; error: string }, what: string) =>
  z.array(z.string().trim().regex(pattern, { error })).max(10_000).nullable().optional().describe(what);
const choice = <const T extends readonly [string, ...string[]]>(options: T, what: string) =>
  z.enum(options).nullable().optional().describe(what);

const dmPolicy = lazy(() =>
  choice(
    ["open", "allowlist", "disabled", "pairing"],
    "Who may write directly; `pairing` stands for `allowlist` with pairing on.",
  ),
);
const groupPolicy = lazy(() => choice(["open", "allowlist", "disabled"], "Which groups may write."));
const pairing = lazy(() => flag("Gives unknown senders a pairing code."));
const DM_IDS = "Ids that may write directly; replaces the list.";
const GROUP_IDS = "Ids of groups that may write; replaces the list.";

const enabled = lazy(() => flag("Turns the channel on or off; its settings are kept."));
const coalesceMs = lazy(() =>
  z
    .number()
    .int()
    .min(0)
    .max(60_000)
    .nullable()
    .optional()
    .describe("Messages from one sender that arrive within this time become one turn."),
);
const progressMs = lazy(() =>
  z
    .number()
    .int()
    .min(0)
    .max(600_000)
    .nullable()
    .optional()
    .describe(
      "A turn that takes longer shows its text so far, where messages can be edited; 0 turns this off.",
    ),
);

/**
 * Fields of channels in the update of an agent: the channel's name and the key of its block, in snake_case. `null`
 * clears a key. `cloudchat` has none; access to `botchat` and `guildchat` is changed by routes of their own.
 */
export const channelFields = lazy(() => ({
  botchat_enabled: enabled(),
  botchat_coalesce_ms: coalesceMs(),
  botchat_progress_ms: progressMs(),
  botchat_bot_token: secret(),
  botchat_mode: choice(["polling", "webhook"], "How messages are received."),
  botchat_webhook_secret: secret(),
  botchat_api_base_url: url(),
  guildchat_enabled: enabled(),
  guildchat_coalesce_ms: coalesceMs(),
  guildchat_progress_ms: progressMs(),
  guildchat_bot_token: secret(),
  guildchat_api_base_url: url(),
  guildchat_gateway_url: url(),
  devicechat_enabled: enabled(),
  devicechat_coalesce_ms: coalesceMs(),
  devicechat_progress_ms: progressMs(),
  devicechat_wa_web_socket_url: url(),
  devicechat_account_id: z
    .string()
    .max(MAX_ACCOUNT_ID_CHARS)
    .optional()
    .describe("Account that the fields below apply to; the first one when unset."),
  devicechat_label: z
    .string()
    .max(MAX_LABEL_CHARS)
    .nullable()
    .optional()
    .describe("Display name of the account."),
  devicechat_dm_policy: dmPolicy(),
  devicechat_dm_allowlist: ids(CHANNEL_IDS.devicechat.user, DM_IDS),
  devicechat_pairing: pairing(),
  devicechat_group_policy: groupPolicy(),
  devicechat_group_allowlist: ids(CHANNEL_IDS.devicechat.group, GROUP_IDS),
  devicechat_require_mention: flag("In groups, answer only when mentioned."),
  devicechat_send_read_receipts: flag("Marks accepted messages as read."),
  devicechat_reaction_level: choice(
    ["ack", "off"],
    "Whether a message gets a reaction while the agent works on it.",
  ),
  sigchat_enabled: enabled(),
  sigchat_coalesce_ms: coalesceMs(),
  sigchat_progress_ms: progressMs(),
  sigchat_channel_secret: secret(),
  sigchat_channel_access_token: secret(),
  sigchat_dm_policy: dmPolicy(),
  sigchat_dm_allowlist: ids(CHANNEL_IDS.sigchat.user, DM_IDS),
  sigchat_pairing: pairing(),
  sigchat_group_policy: groupPolicy(),
  sigchat_group_allowlist: ids(CHANNEL_IDS.sigchat.group, GROUP_IDS),
  sigchat_api_base_url: url(),
  sigchat_data_api_base_url: url(),
  teamchat_enabled: enabled(),
  teamchat_coalesce_ms: coalesceMs(),
  teamchat_progress_ms: progressMs(),
  teamchat_bot_token: secret(),
  teamchat_signing_secret: secret(),
  teamchat_dm_policy: dmPolicy(),
  teamchat_dm_allowlist: ids(CHANNEL_IDS.teamchat.user, DM_IDS),
  teamchat_pairing: pairing(),
  teamchat_group_policy: groupPolicy(),
  teamchat_group_allowlist: ids(CHANNEL_IDS.teamchat.group, GROUP_IDS),
  teamchat_require_mention: flag("In channels, answer only when mentioned."),
  teamchat_api_base_url: url(),
}));
