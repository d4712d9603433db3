import type { ChannelName, WebhookChannel } from "./types.ts";

/** Channels whose providers call the gateway, by their name in the address; each is loaded by its first request. */
export const WEBHOOKS = {
  sigchat: async () => (await import("./sigchat/index.ts")).loadWebhook(),
  teamchat: async () => (await import("./teamchat/index.ts")).loadWebhook(),
  cloudchat: async () => (await import("./cloudchat/index.ts")).loadWebhook(),
  botchat: async () => (await import("./botchat/index.ts")).loadWebhook(),
} satisfies { [name in ChannelName]?: () => Promise<WebhookChannel> };
