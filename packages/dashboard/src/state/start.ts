import { computed, effect } from "@preact/signals";
import { pageOf } from "./address.ts";
import { auth, checkLogin } from "./auth.ts";
import { loadCatalogue } from "./catalogue.ts";
import { followIfBusy, openPlace } from "./conversation.ts";
import { startFeed } from "./feed.ts";
import { loadHealth } from "./health.ts";
import { report } from "./notices.ts";
import { loadAgents, place, settlePlace } from "./place.ts";
import { poll } from "./poll.ts";
import { route } from "./route.ts";
import { loadSessions, loadStatus, sessions } from "./sessions.ts";

/** How often the page asks which sessions are busy. */
const STATUS_MS = 4000;
/** How often to check what keeps agents, or the gateway, from working. */
const TROUBLE_MS = 15_000;
/** How often to look for sessions that somebody else began, or that other messages moved. */
const SESSIONS_MS = 15_000;

/**
 * Connects the parts of the state: each follows from the login and the address.
 * @param pageWith the page with this id: its name, and whether it shows what sessions do
 */
export function start(pageWith: (id: string) => { label: string; live?: boolean }): void {
  void checkLogin();
  startFeed();

  effect(() => {
    if (auth.value === "in") void Promise.all([loadAgents(), loadCatalogue()]).catch(report);
  });
  effect(settlePlace);
  effect(() => {
    document.title =
      auth.value === "in" ? `${pageWith(pageOf(route.value)).label} – Agent Gateway` : "Agent Gateway";
  });
  effect(() => {
    const shown = auth.value === "in" ? place.value : undefined;
    void openPlace(shown);
  });

  const chat = computed(() => {
    const here = auth.value === "in" ? place.value : undefined;
    return here && JSON.stringify([here.agentId, here.chatId]);
  });
  effect(() => {
    sessions.value = undefined;
    if (chat.value === undefined) return undefined;
    let first = true;
    return poll(
      async (signal) => {
        const told = first ? report : () => {};
        first = false;
        await loadSessions(signal).catch(told);
      },
      SESSIONS_MS,
      { by: ["message", "session", "turn"] },
    );
  });
  const live = computed(
    () => auth.value === "keyless" || (auth.value === "in" && pageWith(pageOf(route.value)).live === true),
  );
  effect(() => {
    if (!live.value) return undefined;
    return poll(
      async (signal) => {
        await loadStatus(signal);
        followIfBusy();
      },
      STATUS_MS,
      { by: ["agent", "channel", "config", "incident", "session", "turn"] },
    );
  });
  effect(() => {
    if (auth.value !== "in") return undefined;
    return poll(
      async (signal) => {
        await loadHealth(signal);
        await loadAgents(signal);
      },
      TROUBLE_MS,
      // No event tells of a full disk, nor of a program that is logged in elsewhere.
      { by: ["agent", "config"], wholly: () => false },
    );
  });
}
