import * as z from "zod";

const ids = z.array(z.coerce.string());
const url = z
  .string()
  .refine((value) => URL.canParse(value) && /^(?:https?|wss?):$/.test(new URL(value).protocol), {
    error: "must be an http(s) or ws(s) URL",
  });
/** `pairing` as a policy is the older form of `allowlist` with `pairing: true`. */
const policy = z.enum(["open", "allowlist", "disabled", "pairing"]);

const common = {
  enabled: z.boolean().default(true).describe("False turns the channel off and keeps its settings."),
  coalesceMs: z
    .number()
    .int()
    .min(0)
    .max(60_000)
    .default(0)
    .describe(
      "Messages from one sender that arrive within this time become one turn; 0 keeps them separate.",
    ),
  progressMs: z
    .number()
    .int()
    .min(0)
    .max(600_000)
    .default(15_000)
    .describe(
      "A turn that takes longer shows its text so far, where messages can be edited; 0 turns this off.",
    ),
};
/** An empty token counts as unset: the channel is off, and the agent loads. */
const token = (what: string) => z.string().optional().describe(what);
const base = (what: string) => url.optional().describe(`URL of ${what}, if you run your own server.`);
const direct = {
  dmPolicy: policy.optional().describe("Who may write directly: `open`, `allowlist` (default), `disabled`."),
  dmAllowlist: ids.default([]).describe("Ids that may write directly."),
  pairing: z.boolean().optional().describe("Gives unknown senders a pairing code; true when unset."),
};
const group = {
  groupPolicy: policy
    .optional()
    .describe("Which groups may write: `open`, `allowlist` (default), `disabled`."),
  groupAllowlist: ids.default([]).describe("Ids of groups that may write."),
};
const manners = {
  sendReadReceipts: z.boolean().default(true).describe("Marks accepted messages as read."),
  reactionLevel: z
    .enum(["ack", "off"])
    .default("ack")
    .describe("`ack` reacts to a message while the agent works on it."),
};

const deviceAccount = z.looseObject({
  id: z.string().describe("The account's id."),
  label: z.string().nullable().default(null).describe("Display name."),
  ...direct,
  ...group,
  requireMention: z.boolean().optional().describe("In groups, answer only when mentioned; true when unset."),
  ...manners,
});

/** Initial access file of `botchat` and `guildchat`; once the file exists, only it counts. */
const first = {
  dmPolicy: policy.optional().describe("Initial policy for direct messages in `access.json`."),
  dmAllowlist: ids.default([]).describe("Initial users in `allowFrom` of `access.json`."),
  pairing: z.boolean().optional().describe("Initial `pairing` in `access.json`."),
  groupPolicy: policy.optional().describe("Initial policy for groups or servers in `access.json`."),
  groupAllowlist: ids.default([]).describe("Initial list of groups or servers in `access.json`."),
  requireMention: z.boolean().optional().describe("Initial `requireMention` in `access.json`."),
};

/** The channels' blocks of an agent's entry. */
export const channelBlocks = {
  botchat: z
    .looseObject({
      ...common,
      botToken: token("The bot's token, usually a variable."),
      apiBaseUrl: base("the Bot API"),
      mode: z
        .enum(["polling", "webhook"])
        .default("polling")
        .describe("`webhook` needs `gateway.publicUrl` and `webhookSecret`."),
      ...first,
      webhookSecret: token("Secret that the provider sends back with each webhook."),
    })
    .optional()
    .describe("Telegram."),
  guildchat: z
    .looseObject({
      ...common,
      botToken: token("The bot's token, usually a variable."),
      apiBaseUrl: base("the REST API"),
      gatewayUrl: base("the WebSocket"),
      ...first,
    })
    .optional()
    .describe("Discord."),
  devicechat: z
    .looseObject({
      ...common,
      waWebSocketUrl: base("the WebSocket"),
      accounts: z
        .array(deviceAccount)
        .default([])
        .describe("Linked numbers; an empty list means one account called `default`."),
    })
    .optional()
    .describe("WhatsApp as a linked device."),
  cloudchat: z
    .looseObject({
      ...common,
      accessToken: token("The system user's token."),
      phoneNumberId: z.coerce.string().optional().describe("Id of the phone number."),
      appSecret: token("Secret that webhooks are signed with."),
      verifyToken: token("Token that verifies the webhook."),
      ...direct,
      ...manners,
      templatesEnabled: z
        .boolean()
        .default(false)
        .describe("Sends a template once the provider no longer allows free text (after 24 hours)."),
      templateName: z.string().optional().describe("Name of a template with one text parameter in its body."),
      templateLanguage: z.string().default("en").describe("Language code of the template."),
      apiBaseUrl: base("the Graph API"),
    })
    .optional()
    .describe("WhatsApp Cloud API."),
  sigchat: z
    .looseObject({
      ...common,
      channelSecret: token("Secret that webhooks are signed with."),
      channelAccessToken: token("Token for replies."),
      ...direct,
      ...group,
      apiBaseUrl: base("the messaging API"),
      dataApiBaseUrl: base("the file API"),
    })
    .optional()
    .describe("LINE."),
  teamchat: z
    .looseObject({
      ...common,
      botToken: token("The bot user's token (`xoxb-…`)."),
      signingSecret: token("Secret that events are signed with."),
      ...direct,
      ...group,
      requireMention: z
        .boolean()
        .optional()
        .describe("In channels, answer only when mentioned; true when unset."),
      apiBaseUrl: base("the Web API"),
    })
    .optional()
    .describe("Slack."),
};
