import type { ChannelName, WebhookChannel } from "./types.ts";

/** Channels whose providers call the gateway, by their name in the address; each is loaded by its first request. */
export const WEBHOOKS = {
  sigchat: async () => (await import("./sigchat/webhook.ts")).webhook,
  teamchat: async () => (await import("./teamchat/webhook.ts")).webhook,
  cloudchat: async () => (await import("./cloudchat/webhook.ts")).webhook,
  botchat: async () => (await import("./botchat/webhook.ts")).webhook,
} satisfies { [name in ChannelName]?: () => Promise<WebhookChannel> };
