import type { RouteDecl } from "../route.ts";
import * as agents from "./agents.ts";
import * as channelHealth from "./channel-health.ts";
import * as channels from "./channels.ts";
import * as connectorOAuth from "./connector-oauth.ts";
import * as connectors from "./connectors.ts";
import * as crons from "./crons.ts";
import * as deliveries from "./deliveries.ts";
import * as devicechat from "./devicechat.ts";
import * as events from "./events.ts";
import * as history from "./history.ts";
import * as incidents from "./incidents.ts";
import * as media from "./media.ts";
import * as messages from "./messages.ts";
import * as ops from "./ops.ts";
import * as packages from "./packages.ts";
import * as pairing from "./pairing.ts";
import * as sessions from "./sessions.ts";
import * as terminal from "./terminal.ts";
import * as usage from "./usage.ts";
import * as webhooks from "./webhooks.ts";

/** Every route by name, grouped by room. */
export const routes = {
  ...messages,
  ...sessions,
  ...history,
  ...incidents,
  ...media,
  ...agents,
  ...channelHealth,
  ...channels.accessRoutes,
  ...connectorOAuth,
  ...connectors,
  ...crons,
  ...deliveries,
  ...devicechat,
  ...events,
  ...ops,
  ...packages,
  ...terminal.terminalRoutes,
  ...pairing,
  ...usage,
  ...webhooks,
};
export type RouteName = keyof typeof routes;
export const routeList: readonly (RouteDecl & { name: string })[] = Object.entries(routes).map(
  ([name, decl]) => ({
    name,
    ...decl,
  }),
);
