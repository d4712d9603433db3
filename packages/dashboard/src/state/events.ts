import type { FeedEvent } from "@agent-gateway/contract";
import { signal } from "@preact/signals";
import { client } from "../api/client.ts";
import { onFeed } from "./feed.ts";
import { report } from "./notices.ts";

/** Events that the page keeps; older ones are in the list of the command line. */
const KEPT = 500;
const PAGE = "200";

/** The latest events, the newest first; undefined until they have been read. */
export const events = signal<readonly FeedEvent[] | undefined>(undefined);

const numberOf = ({ id }: FeedEvent) => Number(id.slice("evt_".length));

/** Each once, the newest first. */
export function joined(known: readonly FeedEvent[], more: readonly FeedEvent[]): FeedEvent[] {
  const byId = new Map([...known, ...more].map((event) => [event.id, event]));
  return [...byId.values()].sort((a, b) => numberOf(b) - numberOf(a)).slice(0, KEPT);
}

/** Reads the latest events and keeps up with what comes. Returns what ends it. */
export function followEvents(): () => void {
  const control = new AbortController();
  const read = () =>
    client
      .call("events", { query: { stream: "false", limit: PAGE }, signal: control.signal })
      .then((page) => {
        events.value = joined(events.peek() ?? [], page.events);
      })
      .catch(report);
  const unheard = onFeed((_, event) => {
    if (event) events.value = joined(events.peek() ?? [], [event]);
    else void read();
  });
  void read();
  return () => {
    control.abort();
    unheard();
  };
}
