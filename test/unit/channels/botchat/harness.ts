import { tmpdir } from "node:os";
import { onTestFinished } from "vitest";
import { createAdapter } from "../../../../packages/gateway/src/channels/botchat/index.ts";
import type { AdapterContext, Outgoing } from "../../../../packages/gateway/src/channels/types.ts";
import type { AgentConfig } from "../../../../packages/gateway/src/config/index.ts";
import { type Clock, systemClock } from "../../../../packages/gateway/src/lib/clock.ts";
import { recordingLogger } from "../../../fixtures/temp-home.ts";

/** An agent with nothing but the channel. */
export const agentWith = (botchat: object): AgentConfig =>
  ({
    id: "assistant",
    workspace: "/nonexistent",
    botchat: { enabled: true, coalesceMs: 0, mode: "polling", ...botchat },
  }) as unknown as AgentConfig;

export interface Setup {
  botchat: object;
  clock?: Clock;
  publicUrl?: string;
}

export async function adapterFor({ botchat, clock = systemClock, publicUrl }: Setup) {
  const log = recordingLogger();
  const context: AdapterContext = {
    place: { agentId: "assistant", channel: "botchat", account: "" },
    agent: agentWith(botchat),
    stateDir: "/nonexistent/.botchat-state",
    tempDir: tmpdir(),
    publicUrl,
    commands: [
      { name: "/session", description: "Shows the session." },
      { name: "/model", description: "Shows or changes the model." },
    ],
    clock,
    log,
  } as AdapterContext;
  const adapter = await createAdapter(context);
  onTestFinished(() => adapter.close());
  return { adapter, log };
}

export const outgoing = (
  content: Outgoing["content"],
  fields: Partial<Outgoing["target"]> = {},
): Outgoing => ({
  target: { chatId: "501", reply: {}, receivedAt: 0, ...fields },
  content,
  key: "00000000-0000-4000-8000-000000000000",
  begin: () => {},
});

export const never = new AbortController().signal;
