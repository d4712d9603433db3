import { GatewayError } from "@agent-gateway/contract";
import type { AgentConfig } from "../config/index.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import type { Acceptance, Place, Provider, RawRequest, Refusal, WebhookAnswer } from "./ports.ts";

export interface WebhookDeps<Name extends string, Message, Receipt> {
  agents(): readonly AgentConfig[];
  /** Loads what belongs to a provider. */
  channels: { readonly [name in Name]?: () => Promise<Provider<Message, Receipt>> };
  /** Resolves when the messages are on disk; only then does the provider get its reply. */
  receive(place: Place<Name>, messages: readonly Message[]): Promise<void>;
  /** Records the delivery outcome of a message that was sent. */
  receipt(place: Place<Name>, receipt: Receipt): Promise<unknown>;
  /** Called for each request whose signature is valid. */
  proven(place: Place<Name>): void;
  clock: Clock;
  log: Logger;
}

export interface Webhooks {
  /** @throws GatewayError `NOT_FOUND` when no provider uses this name */
  require(app: string): void;
  /**
   * Verifies a request, stores its messages and replies.
   * @param agentId if undefined, the first agent that has the channel
   * @throws GatewayError `NOT_FOUND`, `INVALID_REQUEST` (401), `FORBIDDEN`, `INVALID_JSON`, and `UNAVAILABLE` when the
   * messages could not be stored, so that the provider sends them again
   */
  answer(app: string, agentId: string | undefined, request: RawRequest): Promise<WebhookAnswer>;
}

/** Refused requests are logged at most this often per place: anyone can send them. */
const LOG_EVERY_MS = 60_000;
const MAX_SHOWN_CHARS = 40;

/** The entry point for providers that call the gateway: finds the agent, verifies, stores, replies. */
export function createWebhooks<Name extends string, Message, Receipt>(
  deps: WebhookDeps<Name, Message, Receipt>,
): Webhooks {
  const { agents, channels, receive, receipt, proven, clock, log } = deps;
  const logged = new Map<string, number>();

  const require = (app: string) => {
    const load = Object.hasOwn(channels, app) ? channels[app as Name] : undefined;
    if (load) return { load, name: app as Name };
    const shown = app.replace(/[^\w.:-]/g, "?").slice(0, MAX_SHOWN_CHARS);
    throw new GatewayError("NOT_FOUND", `There is no webhook for the app "${shown}".`);
  };

  const logRefusal = ({ agentId, channel }: Place<Name>, error: string) => {
    const key = `${agentId}/${channel}`;
    if (clock.elapsed() - (logged.get(key) ?? Number.NEGATIVE_INFINITY) < LOG_EVERY_MS) return;
    logged.set(key, clock.elapsed());
    log.warn({ agent: agentId, channel }, `refused a webhook request: ${error}`);
  };

  const refuse = (place: Place<Name>, { status, error }: Refusal) => {
    logRefusal(place, error);
    if (status === 400) return new GatewayError("INVALID_JSON", error);
    if (status === 403) return new GatewayError("FORBIDDEN", error);
    return new GatewayError("INVALID_REQUEST", error, { status });
  };

  const store = async (
    place: Place<Name>,
    { messages = [], receipts = [] }: Acceptance<Message, Receipt>,
  ) => {
    try {
      if (messages.length > 0) await receive(place, messages);
      for (const one of receipts) await receipt(place, one);
    } catch (cause) {
      log.error(
        { err: cause, agent: place.agentId, channel: place.channel },
        "could not store a webhook's messages",
      );
      throw new GatewayError("UNAVAILABLE", "Could not store the event; send it again.", { cause });
    }
  };

  return {
    require,
    async answer(app, agentId, request) {
      const { load, name } = require(app);
      const channel = await load();
      const greeting = channel.greet?.(request);
      if (greeting?.status === 200) return greeting;
      const agent = agents().find(
        (entry) => (agentId === undefined || entry.id === agentId) && channel.enabled(entry),
      );
      if (!agent) throw new GatewayError("NOT_FOUND", `No agent with ${name} enabled matches this address.`);
      const place: Place<Name> = { agentId: agent.id, channel: name, account: "" };
      const verdict = channel.handle(request, agent, clock.now());
      if (verdict.status === 200 || verdict.status === 400) proven(place);
      if (verdict.status !== 200) throw refuse(place, verdict);
      await store(place, verdict);
      return verdict;
    },
  };
}
