export {
  type CallInput,
  type CallReply,
  type Client,
  type ClientOptions,
  createClient,
  errorOf,
  readTurn,
} from "./client.ts";
export * from "./errors.ts";
export * from "./events.ts";
export * from "./limits.ts";
export * from "./route.ts";
export { accessRouteNames, SENDER_CHANNELS } from "./routes/channels.ts";
export { type RouteName, routeList, routes } from "./routes/index.ts";
export { ptyStream } from "./routes/terminal.ts";
export * from "./schemas/agents.ts";
export * from "./schemas/channel-health.ts";
export { CHANNEL_IDS } from "./schemas/channel-ids.ts";
export * from "./schemas/common.ts";
export {
  type AddConnector,
  type AgentRecordConnectors,
  CONNECTOR_ID,
  type ConnectConnector,
  type ConnectorRecord,
  type ReceiveConnector,
  type UpdateConnector,
} from "./schemas/connectors.ts";
export * from "./schemas/crons.ts";
export * from "./schemas/deliveries.ts";
export * from "./schemas/events.ts";
export * from "./schemas/feed.ts";
export * from "./schemas/history.ts";
export * from "./schemas/incidents.ts";
export * from "./schemas/messages.ts";
export * from "./schemas/ops.ts";
export * from "./schemas/packages.ts";
export * from "./schemas/sessions.ts";
export * from "./schemas/steps.ts";
export * from "./schemas/terminal.ts";
export * from "./schemas/usage.ts";
export { readSse, type SseEvent } from "./sse-reader.ts";
export { type Waiting, waitingOf } from "./waiting.ts";
