export { type AgentModels, createAgentModels, type OwnModels } from "./for-agent.ts";
export { createModels, type ModelDeps, type Models } from "./models.ts";
export { readCliSettings } from "./settings.ts";
