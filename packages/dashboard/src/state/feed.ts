import { DONE, type FeedEvent, GatewayError, readSse } from "@agent-gateway/contract";
import { effect, signal } from "@preact/signals";
import { client } from "../api/client.ts";
import { auth } from "./auth.ts";

/** What an event is about: the first word of its type. */
export type Noun =
  | "agent"
  | "channel"
  | "config"
  | "connector"
  | "cron"
  | "delivery"
  | "gateway"
  | "hook"
  | "incident"
  | "message"
  | "package"
  | "session"
  | "turn";

/** Waits between attempts to get a broken feed back, in ms; the last one repeats. */
const RETRY_MS = [300, 1000, 2000, 5000, 10_000];
/** How long the page asks by itself after the gateway has refused the feed. */
const REFUSED_MS = 60_000;

/** True while the page hears of every change at once, and need not ask. */
export const feedLive = signal(false);

type Heard = (noun: Noun | undefined, event: FeedEvent | undefined) => void;
const listeners = new Set<Heard>();

/** Calls `heard` for each event, and without one when anything may have changed. Returns what ends it. */
export function onFeed(heard: Heard): () => void {
  listeners.add(heard);
  return () => void listeners.delete(heard);
}
function tell(event: FeedEvent | undefined): void {
  const noun = event?.type.split(".")[0] as Noun | undefined;
  for (const heard of [...listeners]) heard(noun, event);
}

/** The number of the last event that was heard; the feed goes on after it. */
let last: string | undefined;

/** Follows the feed while somebody is logged in and looks: browsers open only a few connections to one gateway. */
export function startFeed(): void {
  let control: AbortController | undefined;
  const settle = () => {
    const wanted = auth.peek() === "in" && !document.hidden;
    if (wanted === (control !== undefined)) return;
    control?.abort();
    control = wanted ? new AbortController() : undefined;
    if (control) void follow(control.signal);
  };
  effect(() => {
    if (auth.value !== "in") last = undefined;
    settle();
  });
  document.addEventListener("visibilitychange", settle);
}

async function follow(abort: AbortSignal): Promise<void> {
  for (let failures = 0; !abort.aborted; ) {
    let waitMs = RETRY_MS[0] as number;
    try {
      await listen(abort, () => {
        failures = 0;
      });
    } catch (error) {
      const refused = error instanceof GatewayError && error.cause === undefined && error.status < 500;
      // What happened meanwhile is no longer kept, or was of another time: begin anew.
      if (refused && error.status === 410) last = undefined;
      else if (refused) waitMs = REFUSED_MS;
      else waitMs = RETRY_MS[Math.min(failures++, RETRY_MS.length - 1)] as number;
    }
    if (!abort.aborted) feedLive.value = false;
    await pause(waitMs, abort);
  }
}

/** Reads the feed until it ends or breaks. */
async function listen(abort: AbortSignal, opened: () => void): Promise<void> {
  const after = last;
  const response = await client.raw("events", {
    query: { types: "*", ...(after !== undefined && { after }) },
    signal: abort,
  });
  if (!response.body || abort.aborted) return;
  opened();
  feedLive.value = true;
  // Without a number to go on from, nobody knows what happened before.
  if (after === undefined) tell(undefined);
  const passed = (id: string) => {
    last = id;
  };
  for await (const { id, data } of readSse(response.body, passed)) {
    if (data === DONE) return;
    if (id === undefined) continue;
    last = id;
    tell(JSON.parse(data) as FeedEvent);
  }
}

function pause(delayMs: number, abort: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (abort.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      resolve();
    };
    const timer = setTimeout(done, delayMs);
    abort.addEventListener("abort", done, { once: true });
  });
}
