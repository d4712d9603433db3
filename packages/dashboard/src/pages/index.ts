import type { ComponentType } from "preact";
import type { IconName } from "../components/Icon.tsx";
import { pageRoute, type Route } from "../state/address.ts";
import { homePlace } from "../state/place.ts";
import { route } from "../state/route.ts";

/** A page of the dashboard. Its module is loaded by the first look at it. */
export interface PageEntry {
  /** The first part of its address after `#/`. */
  id: string;
  /** Its name in the navigation; the page's own heading says the same. */
  label: string;
  icon: IconName;
  group: (typeof GROUPS)[number];
  /** It shows what sessions do, so that `status` is kept up to date for it. */
  live?: true;
  /** Where its link leads; without it, to the page and nothing further. */
  start?: () => Route;
  load: () => Promise<ComponentType>;
}

/** Headings of the navigation, in their order. */
export const GROUPS = ["Talk", "Set up", "Watch"] as const;

/** Agent and chat that a link goes to: those on view, else those used last. */
function near() {
  const at = route.value;
  const home = homePlace();
  return {
    agentId: ("agentId" in at && at.agentId) || home.agentId,
    chatId: at.view === "chat" && at.chatId ? at.chatId : home.chatId,
  };
}

/** Every page, in the order of the navigation; the first is where the dashboard begins. */
export const PAGES: readonly PageEntry[] = [
  {
    id: "overview",
    label: "Overview",
    icon: "home",
    group: "Talk",
    live: true,
    load: () => import("./overview/OverviewPage.tsx").then(({ OverviewPage }) => OverviewPage),
  },
  {
    id: "chat",
    label: "Chat",
    icon: "chat",
    group: "Talk",
    live: true,
    start: () => ({ view: "chat", ...near(), sessionId: undefined }),
    load: () => import("./chat/ChatPage.tsx").then(({ ChatPage }) => ChatPage),
  },
  {
    id: "history",
    label: "History",
    icon: "search",
    group: "Talk",
    start: () => {
      const { agentId, chatId } = near();
      return { view: "history", agentId, chatId: `api-${chatId}`, query: "" };
    },
    load: () => import("./history/HistoryPage.tsx").then(({ HistoryPage }) => HistoryPage),
  },
  {
    id: "agents",
    label: "Agents",
    icon: "bot",
    group: "Set up",
    load: () => import("./agents/AgentsPage.tsx").then(({ AgentsPage }) => AgentsPage),
  },
  {
    id: "channels",
    label: "Channels",
    icon: "link",
    group: "Set up",
    start: () => ({ view: "channels", agentId: near().agentId }),
    load: () => import("./channels/ChannelsPage.tsx").then(({ ChannelsPage }) => ChannelsPage),
  },
  {
    id: "connectors",
    label: "Connectors",
    icon: "plug",
    group: "Set up",
    load: () => import("./connectors/ConnectorsPage.tsx").then(({ ConnectorsPage }) => ConnectorsPage),
  },
  {
    id: "schedule",
    label: "Schedule",
    icon: "clock",
    group: "Set up",
    load: () => import("./schedule/SchedulePage.tsx").then(({ SchedulePage }) => SchedulePage),
  },
  {
    id: "terminal",
    label: "Terminal",
    icon: "terminal",
    group: "Watch",
    load: () => import("./terminal/TerminalPage.tsx").then(({ TerminalPage }) => TerminalPage),
  },
  {
    id: "usage",
    label: "Usage",
    icon: "bars",
    group: "Watch",
    load: () => import("./usage/UsagePage.tsx").then(({ UsagePage }) => UsagePage),
  },
  {
    id: "incidents",
    label: "Incidents",
    icon: "alert",
    group: "Watch",
    load: () => import("./incidents/IncidentsPage.tsx").then(({ IncidentsPage }) => IncidentsPage),
  },
  {
    id: "events",
    label: "Events",
    icon: "list",
    group: "Watch",
    load: () => import("./events/EventsPage.tsx").then(({ EventsPage }) => EventsPage),
  },
  {
    id: "system",
    label: "System",
    icon: "server",
    group: "Watch",
    live: true,
    load: () => import("./system/SystemPage.tsx").then(({ SystemPage }) => SystemPage),
  },
];

/** The page with this id, else the first. */
export const pageWith = (id: string): PageEntry =>
  PAGES.find((page) => page.id === id) ?? (PAGES[0] as PageEntry);

/** The address that a page's link leads to. */
export const startOf = ({ id, start }: PageEntry): Route => start?.() ?? pageRoute(id);
