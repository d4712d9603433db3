import { useSignal } from "@preact/signals";
import { client } from "../../api/client.ts";
import type { Agent } from "../../api/types.ts";
import { AgentNotice } from "../../components/AgentNotice.tsx";
import { ask } from "../../components/Dialog.tsx";
import { SaveForm, typed } from "../../components/SaveForm.tsx";
import { hashOf, pageRoute } from "../../state/address.ts";
import { models } from "../../state/catalogue.ts";
import { attempt, notify } from "../../state/notices.ts";
import { loadAgents } from "../../state/place.ts";
import { go } from "../../state/route.ts";
import { AllSessions } from "./AllSessions.tsx";
import { Greeting } from "./Greeting.tsx";
import { RuntimeForm } from "./RuntimeForm.tsx";

/** Everything about one agent that can be changed here. */
export function AgentForms({ agent }: { agent: Agent }) {
  const { id, name, runtime_status: status } = agent;
  const change = async (body: Readonly<Record<string, unknown>>) => {
    await client.call("updateAgent", { params: { agentId: id }, body });
    await loadAgents();
  };
  return (
    <>
      <p>
        <a href={hashOf(pageRoute("agents"))}>All agents</a>
      </p>
      <h1>{name && name !== id ? `${name} (${id})` : id}</h1>
      <AgentNotice status={status} warnings />
      <About agent={agent} change={change} />
      <RuntimeForm agent={agent} change={change} />
      <Tools agent={agent} change={change} />
      <Greeting agentId={id} />
      <AllSessions agentId={id} />
      <Remove agent={agent} />
    </>
  );
}

type Change = (body: Readonly<Record<string, unknown>>) => Promise<void>;

function About({ agent, change }: { agent: Agent; change: Change }) {
  const save = (fields: FormData) => {
    const model = typed(fields, "model");
    return change({
      name: typed(fields, "name"),
      description: typed(fields, "description"),
      // A model is judged by the agent's program, so it is sent only when it changes.
      ...(model !== (agent.model ?? "") && { model: model === "" ? null : model }),
    });
  };
  return (
    <SaveForm title="Name and model" onSave={save}>
      <label class="field">
        <span>Name</span>
        <input class="input" name="name" maxLength={200} defaultValue={agent.name} autocomplete="off" />
      </label>
      <label class="field">
        <span>What it is for</span>
        <input
          class="input"
          name="description"
          maxLength={2000}
          defaultValue={agent.description}
          autocomplete="off"
        />
      </label>
      <label class="field">
        <span>Model; empty for the program's own choice</span>
        <input
          class="input"
          name="model"
          list="known-models"
          maxLength={200}
          defaultValue={agent.model ?? ""}
          autocomplete="off"
          spellcheck={false}
        />
      </label>
      <datalist id="known-models">
        {models.value.map((model) => (
          <option key={model.id} value={model.id}>
            {model.name}
          </option>
        ))}
      </datalist>
    </SaveForm>
  );
}

const RULES = [
  ["all", "All tools of its program"],
  ["none", "No tools"],
  ["some", "Only these:"],
] as const;

function Tools({ agent: { allow_tools: allowed }, change }: { agent: Agent; change: Change }) {
  const rule = useSignal(Array.isArray(allowed) ? "some" : allowed ? "all" : "none");
  const save = (fields: FormData) => {
    const names = typed(fields, "names")
      .split("\n")
      .map((line) => line.trim())
      .filter((line) => line !== "");
    return change({ allow_tools: rule.value === "some" ? names : rule.value === "all" });
  };
  return (
    <SaveForm title="Tools" hint="What the agent may do by itself, without asking anyone." onSave={save}>
      <div class="choices" role="radiogroup" aria-label="Tools that the agent may use">
        {RULES.map(([value, text]) => (
          <label key={value} class="check">
            <input
              type="radio"
              name="rule"
              checked={rule.value === value}
              onChange={() => {
                rule.value = value;
              }}
            />
            <span>{text}</span>
          </label>
        ))}
      </div>
      <textarea
        class="input"
        name="names"
        aria-label="Names of tools, one on each line"
        placeholder={"One on each line, for example:\nRead\nBash(git *)"}
        disabled={rule.value !== "some"}
        defaultValue={Array.isArray(allowed) ? allowed.join("\n") : ""}
        spellcheck={false}
      />
    </SaveForm>
  );
}

function Remove({ agent: { id, name } }: { agent: Agent }) {
  const remove = async () => {
    const sure = await ask({
      title: "Delete the agent?",
      text: `“${name || id}” will answer nobody any more, and its running answers will be stopped. Its folder and its messages stay on the disk.`,
      action: "Delete",
      danger: true,
    });
    if (sure === undefined) return;
    await client.call("deleteAgent", { params: { agentId: id } });
    go(pageRoute("agents"));
    await loadAgents();
    notify(`The agent ${name || id} has been deleted.`);
  };
  return (
    <section class="save-form" aria-labelledby="delete-title">
      <h2 id="delete-title">Delete</h2>
      <p class="hint">Its folder and its messages stay on the disk.</p>
      <p>
        <button type="button" class="button danger" onClick={() => attempt(remove)}>
          Delete this agent…
        </button>
      </p>
    </section>
  );
}
