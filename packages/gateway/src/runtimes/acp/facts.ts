import { contextShare, type Fields, isFields, nameOrNull } from "../agent-cli/index.ts";

/** How the agent's model is selected: by a session option, or by the older dedicated request. */
export interface ModelSwitch {
  /** Id of the option; null for `session/set_model`. */
  configId: string | null;
  current: string | null;
  available: readonly { id: string; name: string }[];
}

/** What the agent has reported about its session, apart from turns. */
export interface SessionFacts {
  /** Share of the context in use, 0-100. */
  percent: number | undefined;
  /** Model of the last answer. */
  answeredBy: string | undefined;
  /** Names of the agent's slash commands; undefined until it has reported them. */
  commands: readonly string[] | undefined;
  modelSwitch: ModelSwitch | null;
}

export const NO_FACTS: SessionFacts = {
  percent: undefined,
  answeredBy: undefined,
  commands: undefined,
  modelSwitch: null,
};

/** Values that leave the choice to the agent instead of naming a model. */
const NO_MODEL = /^(?:default|auto)$/i;

/** Facts after `session/new`, `session/load` or `session/set_config_option` has answered. */
export function factsFromResult(facts: SessionFacts, result: Fields): SessionFacts {
  return {
    ...facts,
    modelSwitch: optionSwitch(result.configOptions) ?? modelsSwitch(result.models) ?? facts.modelSwitch,
  };
}

/** Facts after a `session/update`. */
export function factsFromUpdate(facts: SessionFacts, update: Fields): SessionFacts {
  switch (update.sessionUpdate) {
    case "usage_update": {
      const { used, size } = update;
      const known = typeof used === "number" && typeof size === "number";
      const percent = known ? contextShare({ input: used, output: undefined }, size) : undefined;
      // claude-agent-acp names the model of the call that the usage refers to.
      const model = isFields(update._meta) ? nameOrNull(update._meta["_claude/model"]) : null;
      return { ...facts, percent: percent ?? facts.percent, answeredBy: model ?? facts.answeredBy };
    }
    case "available_commands_update": {
      const commands = Array.isArray(update.availableCommands)
        ? update.availableCommands.slice(0, MAX_NAMES).filter(isFields)
        : [];
      return { ...facts, commands: commands.map((command) => nameOrNull(command.name) ?? "") };
    }
    case "config_option_update":
      return { ...facts, modelSwitch: optionSwitch(update.configOptions) ?? facts.modelSwitch };
    default:
      return facts;
  }
}

/** The model that answers, if the agent names it. */
export function modelOf({ answeredBy, modelSwitch }: SessionFacts): string | undefined {
  const chosen = modelSwitch?.current ?? undefined;
  return answeredBy ?? (chosen !== undefined && !NO_MODEL.test(chosen) ? chosen : undefined);
}

/** The facts after switching the model, without those of the previous one. */
export function withModel(facts: SessionFacts, model: string): SessionFacts {
  const modelSwitch = facts.modelSwitch && { ...facts.modelSwitch, current: model };
  return { ...facts, modelSwitch, answeredBy: undefined };
}

function optionSwitch(configOptions: unknown): ModelSwitch | null {
  if (!Array.isArray(configOptions)) return null;
  const options = configOptions.filter(isFields);
  const option =
    options.find(({ id }) => id === "model") ?? options.find(({ category }) => category === "model");
  const configId = nameOrNull(option?.id);
  if (!option || configId === null || option.type === "boolean") return null;
  const choices = (Array.isArray(option.options) ? option.options : []).flatMap((one: unknown) =>
    isFields(one) && Array.isArray(one.options) ? one.options : [one],
  );
  return {
    configId,
    current: nameOrNull(option.currentValue),
    available: namedModels(choices, "value"),
  };
}

function modelsSwitch(models: unknown): ModelSwitch | null {
  if (!isFields(models)) return null;
  const choices = Array.isArray(models.availableModels) ? models.availableModels : [];
  return {
    configId: null,
    current: nameOrNull(models.currentModelId),
    available: namedModels(choices, "modelId"),
  };
}

/** More models, or commands, than any agent offers. */
const MAX_NAMES = 1000;

function namedModels(choices: readonly unknown[], key: string): ModelSwitch["available"] {
  return choices.slice(0, MAX_NAMES).flatMap((choice) => {
    const id = isFields(choice) ? nameOrNull(choice[key]) : null;
    return isFields(choice) && id !== null ? [{ id, name: nameOrNull(choice.name) ?? id }] : [];
  });
}
