import { type Clock, sleep } from "../../lib/clock.ts";
import { below } from "../support/exchange.ts";
import type { Connection } from "../types.ts";
import { ALLOWED_UPDATES, type Line } from "./connect.ts";

/** How often Telegram is asked about the state of its deliveries. */
const CHECK_MS = 30_000;
/** https://core.telegram.org/bots/api#setwebhook */
const SECRET = /^[A-Za-z0-9_-]{1,256}$/;

export interface HookDeps {
  line: Line;
  clock: Clock;
  agentId: string;
  publicUrl: string | undefined;
  secret: string | undefined;
}

/** Lets Telegram deliver to the gateway, and checks that it does, until the connection has to end. */
export async function watchWebhook(connection: Connection, deps: HookDeps): Promise<void> {
  const { line, clock, agentId, publicUrl, secret } = deps;
  const { signal } = connection;
  if (publicUrl === undefined) throw new Error("botchat.mode webhook requires gateway.publicUrl.");
  if (!secret) throw new Error("botchat.mode webhook requires botchat.webhookSecret.");
  if (!SECRET.test(secret)) {
    throw new Error("botchat.webhookSecret may contain only letters, digits, _ and -, at most 256.");
  }
  const url = below(publicUrl, `webhooks/botchat/${agentId}`);
  await line.greet(connection);
  await line.call(
    (bound) =>
      line.api.raw.setWebhook(
        // One delivery at a time: in parallel, they would arrive out of order.
        {
          url,
          secret_token: secret,
          allowed_updates: ALLOWED_UPDATES,
          max_connections: 1,
          drop_pending_updates: false,
        },
        bound,
      ),
    signal,
  );
  const since = Math.floor(clock.now() / 1000);
  while (!signal.aborted) {
    const info = await line.call((bound) => line.api.raw.getWebhookInfo(bound), signal);
    if (info.url !== url) {
      throw new Error("The bot's webhook was changed elsewhere: a bot belongs to one gateway.");
    }
    if ((info.last_error_date ?? 0) > since && (info.pending_update_count ?? 0) > 0) {
      throw new Error(
        `Telegram cannot deliver: ${(info.last_error_message ?? "no reason given").slice(0, 200)}`,
      );
    }
    connection.alive();
    await sleep(clock, CHECK_MS, signal);
  }
}
