import { effect } from "@preact/signals";
import { auth, checkLogin } from "./auth.ts";
import { loadCatalogue } from "./catalogue.ts";
import { followIfBusy, openPlace } from "./conversation.ts";
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

const TITLES = { chat: "Chat", channels: "Channels", history: "History", usage: "Usage", status: "Status" };

/** Connects the parts of the state: each follows from the login and the address. */
export function start(): void {
  void checkLogin();

  effect(() => {
    if (auth.value === "in") void Promise.all([loadAgents(), loadCatalogue()]).catch(report);
  });
  effect(settlePlace);
  effect(() => {
    document.title = auth.value === "in" ? `${TITLES[route.value.view]} – Agent Gateway` : "Agent Gateway";
  });
  effect(() => {
    const shown = auth.value === "in" ? place.value : undefined;
    void openPlace(shown);
  });

  let chat = "";
  effect(() => {
    const here = auth.value === "in" ? place.value : undefined;
    const next = here ? `${here.agentId}/${here.chatId}` : "";
    if (next === chat) return;
    chat = next;
    sessions.value = undefined;
    if (here) void loadSessions().catch(report);
  });
  effect(() => {
    const open = auth.value === "in" || auth.value === "keyless";
    if (!open || (route.value.view !== "chat" && route.value.view !== "status")) return undefined;
    return poll(async (signal) => {
      await loadStatus(signal);
      followIfBusy();
    }, STATUS_MS);
  });
  effect(() => {
    if (auth.value !== "in") return undefined;
    return poll(async (signal) => {
      await loadHealth(signal);
      await loadAgents(signal);
    }, TROUBLE_MS);
  });
}
