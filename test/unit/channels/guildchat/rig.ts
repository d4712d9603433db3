import { onTestFinished } from "vitest";
import { createAdapter } from "../../../../packages/gateway/src/channels/guildchat/index.ts";
import type { AdapterContext } from "../../../../packages/gateway/src/channels/types.ts";
import { openAdapter } from "../../../fixtures/adapter.ts";
import { hastyClock } from "../../../fixtures/connection.ts";
import { GUILD_TOKEN, startFakeGuildchat } from "../../../fixtures/fake-guildchat.ts";

export const DM = "700000000000000001";
export const ROOM = "700000000000000002";
export const GUILD = "800000000000000001";

export async function startFake(options?: Parameters<typeof startFakeGuildchat>[0]) {
  const fake = await startFakeGuildchat(options);
  onTestFinished(() => fake[Symbol.asyncDispose]());
  return fake;
}

/** An adapter for these addresses; pauses are short. */
export const adapterFor = (
  { apiBaseUrl, gatewayUrl }: { apiBaseUrl: string; gatewayUrl?: string },
  { botToken = GUILD_TOKEN, ...extra }: Partial<AdapterContext> & { botToken?: string } = {},
) =>
  openAdapter(
    createAdapter,
    "guildchat",
    { botToken, apiBaseUrl, ...(gatewayUrl !== undefined && { gatewayUrl }) },
    {
      clock: hastyClock(20),
      commands: [{ name: "/session", description: "Shows the session." }],
      ...extra,
    },
  );
