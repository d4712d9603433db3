export { runsInTerminal } from "./backend.ts";
export { auditPermissions, checkConfig, type PermissionAudit, startupWarnings } from "./check.ts";
export { type Changes, changeDotenv, readDotenv, type Variables, writeDotenv } from "./dotenv.ts";
export { parseForEdit, stringifyLike } from "./edit.ts";
export { type FirstRun, firstRun } from "./first-run.ts";
export { hasVariable } from "./interpolate.ts";
export { agentEnvFile, connectorSecretsFile, createPaths, type Env, homeEnvFile } from "./paths.ts";
export { ConfigFileError, describe as describeProblem, type Problem } from "./problems.ts";
export { loadText } from "./read.ts";
export { restrictHome } from "./restrict.ts";
export type {
  AgentConfig,
  ApiKeyEntry,
  Config,
  GatewaySection,
  LogsSection,
  SessionSection,
} from "./schema.ts";
export { channelBlocks } from "./schema-channels.ts";
export { type ConfigStoreOptions, createConfigStore } from "./store.ts";
export { storeSettings } from "./store-settings.ts";
export { isTimezone } from "./timezone.ts";
export type { ConfigStore, Paths } from "./types.ts";
