import type { ChannelName } from "../../state/channels.ts";

/** A token or secret that a channel is connected with, as the agent update takes it. */
export interface TokenField {
  name: string;
  label: string;
}

interface Facts {
  /** The service that people know. */
  service: string;
  /** Where to find the value to paste, in a sentence. */
  how: string;
  tokens: readonly TokenField[];
  /** The channel's word for groups. */
  groups: string;
  /** The provider calls the gateway. */
  webhook?: true;
}

/** The page's text for each channel; docs/channels has the rest. */
export const FACTS: Readonly<Record<ChannelName, Facts>> = {
  botchat: {
    service: "Telegram",
    how: "Send /newbot to @BotFather in Telegram and paste the token you get back.",
    tokens: [{ name: "bot_token", label: "Bot token" }],
    groups: "Groups",
  },
  guildchat: {
    service: "Discord",
    how: "Create an application in Discord's developer portal, turn on its Message Content intent, and paste the token from its Bot page.",
    tokens: [{ name: "bot_token", label: "Bot token" }],
    groups: "Servers",
  },
  devicechat: {
    service: "WhatsApp, as a linked device",
    how: "Turn it on, then scan the QR code with your phone, under Linked devices.",
    tokens: [],
    groups: "Groups",
  },
  cloudchat: {
    service: "WhatsApp Cloud API",
    how: "Set its access token, phone number and secrets in config.json, in the agent's cloudchat block.",
    tokens: [],
    groups: "Groups",
    webhook: true,
  },
  sigchat: {
    service: "LINE",
    how: "Paste both from the Messaging API channel in the LINE Developers console, and set the webhook URL there.",
    tokens: [
      { name: "channel_secret", label: "Channel secret" },
      { name: "channel_access_token", label: "Channel access token" },
    ],
    groups: "Groups and rooms",
    webhook: true,
  },
  teamchat: {
    service: "Slack",
    how: "Paste both from your Slack app, and set the request URL of its event subscriptions there.",
    tokens: [
      { name: "bot_token", label: "Bot user OAuth token" },
      { name: "signing_secret", label: "Signing secret" },
    ],
    groups: "Channels",
    webhook: true,
  },
};
