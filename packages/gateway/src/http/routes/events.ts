import { EVENT_SEQ, FEED_TYPES, GatewayError, routes } from "@agent-gateway/contract";
import {
  type Authenticator,
  type DashboardSessions,
  hasLevel,
  principalNow,
  reaches,
} from "../../auth/index.ts";
import type { Config } from "../../config/index.ts";
import type { EventFilter, Feed } from "../../events/index.ts";
import type { Clock } from "../../lib/clock.ts";
import { type Endpoint, endpoint, json } from "../endpoint.ts";
import { streamFeed } from "../feed-stream.ts";
import { createStreamSlots } from "../stream-slots.ts";

export interface EventDeps {
  feed: Pick<Feed, "after" | "latest" | "last" | "follow">;
  authenticator: Authenticator;
  logins: Pick<DashboardSessions, "isOver">;
  config: () => Config;
  clock: Clock;
}

/** Streams of the feed that one key may hold open. */
const MAX_READERS = 20;
/** How many events a stream reads at a time. */
const STREAM_PAGE = 200;

/** The feed: a list, or a stream that replays and then follows. */
export function eventRoutes({ feed, authenticator, logins, config, clock }: EventDeps): Endpoint[] {
  const takePlace = createStreamSlots(() => MAX_READERS);
  const events = endpoint(routes.events, async ({ query, principal, requestId, req, res }) => {
    const { agent } = query;
    if (agent !== undefined && !config().agents.some(({ id }) => id === agent))
      throw new GatewayError("AGENT_NOT_FOUND");
    /** Asked before each read: a stream lives longer than the rights it began with. */
    const filter = (): EventFilter => {
      const now = logins.isOver(principal) ? undefined : principalNow(authenticator, principal);
      if (!now) throw new GatewayError("API_KEY_INVALID");
      if (agent !== undefined && !reaches(now, agent)) {
        throw new GatewayError("FORBIDDEN", "This key has no access to this agent.");
      }
      return {
        types: query.types?.length === FEED_TYPES.length ? undefined : query.types,
        agents: agent !== undefined ? [agent] : now.agents === "*" ? undefined : [...now.agents],
        ownerless: agent === undefined && hasLevel(now, "admin"),
        texts: query.include === "text",
      };
    };
    if (!query.stream) {
      const { after, limit } = query;
      const page = await (after === undefined
        ? feed.latest(limit, filter())
        : feed.after(after, limit, filter()));
      return json({
        events: page.events.map(({ event }) => event),
        hasMore: page.more,
        nextCursor: page.upTo,
      });
    }
    filter();
    using _place = takePlace(principal.id);
    // A client that reconnects repeats its address, so the header knows better.
    const after = lastEventId(req.headers["last-event-id"]) ?? query.after ?? (await feed.last());
    // A cursor is refused before the stream begins.
    await feed.after(after, 1, filter());
    const read = (from: number) => feed.after(from, STREAM_PAGE, filter());
    const options = { after, requestId, clock, keepaliveMs: config().gateway.turns.keepaliveMs };
    await streamFeed(res, { read, follow: feed.follow }, options);
    return { handled: true };
  });
  return [events];
}

function lastEventId(header: string | string[] | undefined): number | undefined {
  if (typeof header !== "string" || header === "") return undefined;
  if (!EVENT_SEQ.test(header)) {
    throw new GatewayError("INVALID_REQUEST", "Last-Event-ID must be the number of an event.", {
      details: [{ path: "last-event-id", message: "must be the number of an event" }],
    });
  }
  return Number(header);
}
