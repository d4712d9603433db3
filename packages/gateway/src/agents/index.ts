export { type Agents, type AgentsDeps, createAgents } from "./agents.ts";
export type { AgentRecord, ChannelView } from "./record.ts";
export type { CheckedChannel, CheckToken, TokenVerdict } from "./token-check.ts";
