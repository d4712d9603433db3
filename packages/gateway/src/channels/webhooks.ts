import { webhook as botchat } from "./botchat/webhook.ts";
import { webhook as cloudchat } from "./cloudchat/webhook.ts";
import { webhook as sigchat } from "./sigchat/webhook.ts";
import { webhook as teamchat } from "./teamchat/webhook.ts";
import type { ChannelName, WebhookChannel } from "./types.ts";

/** Channels whose providers call the gateway, by their name in the address. */
export const WEBHOOKS = { sigchat, teamchat, cloudchat, botchat } satisfies {
  [name in ChannelName]?: WebhookChannel;
};
