import { MAX_SECRET_CHARS } from "@agent-gateway/contract";
import { useSignal } from "@preact/signals";
import type { Agent } from "../../api/types.ts";
import { Choice } from "../../components/Choice.tsx";
import { runtimeName } from "../../components/runtime.ts";
import { SaveForm, typed } from "../../components/SaveForm.tsx";

const TYPES = [
  ["auto", "The first agent program that is found here"],
  ["agent-cli", "Claude Code, or a program like it"],
  ["acp", "A program that speaks ACP"],
  ["builtin", "The gateway itself, with a key of a model provider"],
  ["starter", "Nothing: fixed sentences, to try the gateway"],
] as const;
const PROVIDERS = [
  ["anthropic", "Anthropic"],
  ["openai", "OpenAI"],
  ["openai-compatible", "Another one with OpenAI's API"],
] as const;

/** What runs an agent. A command and a key are never shown again, so an empty field keeps them. */
export function RuntimeForm(props: {
  agent: Agent;
  change: (body: Readonly<Record<string, unknown>>) => Promise<void>;
}) {
  const { agent, change } = props;
  const stored = agent.runtime as { type: string; provider?: string; model?: string; baseUrl?: string };
  const type = useSignal(stored.type);
  const provider = useSignal(stored.provider ?? "anthropic");
  const save = async (fields: FormData, form: HTMLFormElement) => {
    const given = (name: string) => {
      const value = typed(fields, name);
      return value === "" ? {} : { [name]: value };
    };
    const words = typed(fields, "command")
      .split("\n")
      .map((line) => line.trim())
      .filter((line) => line !== "");
    const own =
      type.value === "builtin"
        ? { provider: provider.value, ...given("model"), ...given("baseUrl"), ...given("apiKey") }
        : words.length > 0
          ? { command: words }
          : {};
    await change({ runtime: { type: type.value, ...own } });
    for (const name of ["apiKey", "command"]) {
      const field = form.elements.namedItem(name);
      if (field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement) field.value = "";
    }
  };
  return (
    <SaveForm
      title="What runs it"
      hint={`Now: ${runtimeName(agent.runtime_status)}. A change takes effect with the next message.`}
      onSave={save}
    >
      <Choice
        label="Runs on"
        name="type"
        value={type.value}
        options={TYPES}
        onChoose={(value) => {
          type.value = value;
        }}
      />
      {(type.value === "agent-cli" || type.value === "acp") && (
        <label class="field">
          <span>
            Program, and each of its arguments on a line of its own
            {type.value === stored.type ? "; empty keeps what is stored" : ""}
          </span>
          <textarea class="input" name="command" spellcheck={false} placeholder={"claude"} />
        </label>
      )}
      {type.value === "builtin" && (
        <>
          <Choice
            label="Provider"
            name="provider"
            value={provider.value}
            options={PROVIDERS}
            onChoose={(value) => {
              provider.value = value;
            }}
          />
          <label class="field">
            <span>Key of the provider; empty keeps the one that is stored</span>
            <input
              class="input"
              type="password"
              name="apiKey"
              maxLength={MAX_SECRET_CHARS}
              autocomplete="off"
              spellcheck={false}
            />
          </label>
          <label class="field">
            <span>Model of the provider</span>
            <input
              class="input"
              name="model"
              maxLength={200}
              defaultValue={stored.model ?? ""}
              autocomplete="off"
              spellcheck={false}
            />
          </label>
          {provider.value === "openai-compatible" && (
            <label class="field">
              <span>Address of its API</span>
              <input
                class="input"
                name="baseUrl"
                type="url"
                defaultValue={stored.baseUrl ?? ""}
                placeholder="http://127.0.0.1:11434/v1"
                autocomplete="off"
              />
            </label>
          )}
        </>
      )}
    </SaveForm>
  );
}
