import type { JSONValue, LanguageModel } from "ai";
import type { Provider } from "../protocol.ts";

/** The session's provider and the model in use. */
export interface Models {
  readonly id: string;
  readonly current: LanguageModel;
  use(id: string): void;
  /** Whether images may stand in tool results; elsewhere they would be sent as text. */
  readonly toolImages: boolean;
  readonly options: Record<string, Record<string, JSONValue>>;
}

export async function createModels({
  provider,
  baseUrl,
  apiKey,
  model,
  fetch,
}: {
  provider: Provider;
  baseUrl: string | undefined;
  apiKey: string | undefined;
  model: string;
  /** How the provider is asked. */
  fetch: typeof globalThis.fetch;
}): Promise<Models> {
  const create = await modelFactory(provider, baseUrl, apiKey, fetch);
  let id = model;
  let current = create(id);
  return {
    get id() {
      return id;
    },
    get current() {
      return current;
    },
    use(next) {
      id = next;
      current = create(next);
    },
    toolImages: provider !== "openai-compatible",
    options: {
      // Servers that merely speak Anthropic's API may refuse a field they do not know.
      ...(baseUrl === undefined && { anthropic: { cacheControl: { type: "ephemeral" } } }),
      // The conversation is kept here and sent whole; the provider need not store it.
      openai: { store: false },
    },
  };
}

/** Loads the one provider package that is needed: each takes memory for as long as the process lives. */
async function modelFactory(
  provider: Provider,
  baseUrl: string | undefined,
  apiKey: string | undefined,
  fetch: typeof globalThis.fetch,
): Promise<(id: string) => LanguageModel> {
  const address = baseUrl === undefined ? {} : { baseURL: baseUrl };
  const key = apiKey === undefined ? {} : { apiKey };
  switch (provider) {
    case "anthropic": {
      const { createAnthropic } = await import("@ai-sdk/anthropic");
      return createAnthropic({ ...address, ...key, fetch });
    }
    case "openai": {
      const { createOpenAI } = await import("@ai-sdk/openai");
      const openai = createOpenAI({ ...address, ...key, fetch });
      return (id) => openai.responses(id);
    }
    case "openai-compatible": {
      const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
      const server = createOpenAICompatible({
        name: "server",
        baseURL: baseUrl!,
        includeUsage: true,
        ...key,
        fetch,
      });
      return (id) => server.chatModel(id);
    }
  }
}
