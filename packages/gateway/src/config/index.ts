export type { AgentConfig, ApiKeyEntry, Config, GatewaySection, SessionSection } from "./schema.ts";
export type { ConfigStore, Paths } from "./types.ts";
