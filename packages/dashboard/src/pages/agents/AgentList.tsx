import { AGENT_ID } from "@agent-gateway/contract";
import { client } from "../../api/client.ts";
import type { Agent } from "../../api/types.ts";
import { problemOf, runtimeName } from "../../components/runtime.ts";
import { SaveForm, typed } from "../../components/SaveForm.tsx";
import { hashOf, pageRoute } from "../../state/address.ts";
import { loadAgents } from "../../state/place.ts";
import { go } from "../../state/route.ts";
import { AllSessions } from "./AllSessions.tsx";

/** Every agent with what runs it, a form for another one, and the sessions of all. */
export function AgentList({ agents, lost }: { agents: readonly Agent[]; lost: string | undefined }) {
  return (
    <>
      <h1>Agents</h1>
      {lost !== undefined && (
        <p class="notice warning" role="status">
          There is no agent “{lost}”.
        </p>
      )}
      {agents.length === 0 ? (
        <p class="empty">This gateway has no agents yet.</p>
      ) : (
        <ul class="rows" aria-label="Agents">
          {agents.map((agent) => (
            <AgentRow key={agent.id} agent={agent} />
          ))}
        </ul>
      )}
      <details class="fold">
        <summary>New agent</summary>
        <NewAgent />
      </details>
      <AllSessions />
    </>
  );
}

function AgentRow({ agent }: { agent: Agent }) {
  const { id, name, description, model, runtime_status: status } = agent;
  const problem = problemOf(status);
  return (
    <li class="row">
      <p>
        <strong>{name && name !== id ? `${name} (${id})` : id}</strong>
        {description && <span>{description}</span>}
        <span class="hint">
          Runs on {runtimeName(status)}
          {model && `, model ${model}`}
        </span>
        {problem && <span class="failure">{problem}</span>}
      </p>
      <a
        class="button"
        aria-label={`Chat with ${name || id}`}
        href={hashOf({ view: "chat", agentId: id, chatId: undefined, sessionId: undefined })}
      >
        Chat
      </a>
      <a class="button" aria-label={`Edit ${name || id}`} href={hashOf(pageRoute("agents", id))}>
        Edit
      </a>
    </li>
  );
}

function NewAgent() {
  const create = async (fields: FormData, form: HTMLFormElement) => {
    const id = typed(fields, "id");
    const name = typed(fields, "name");
    const description = typed(fields, "description");
    const body = { id, ...(name && { name }), ...(description && { description }) };
    await client.call("createAgent", { body });
    form.reset();
    await loadAgents();
    go(pageRoute("agents", id));
  };
  return (
    <SaveForm
      title="New agent"
      hint="It gets a folder of its own and starts with the first agent program that is found here."
      action="Create"
      done="Created."
      onSave={create}
    >
      <label class="field">
        <span>Id, for addresses and folders; it cannot be changed later</span>
        <input
          class="input"
          name="id"
          pattern={AGENT_ID.source.slice(1, -1)}
          maxLength={32}
          placeholder="for example: support"
          autocomplete="off"
          spellcheck={false}
        />
      </label>
      <label class="field">
        <span>Name, for people</span>
        <input class="input" name="name" maxLength={200} autocomplete="off" />
      </label>
      <label class="field">
        <span>What it is for</span>
        <input class="input" name="description" maxLength={2000} autocomplete="off" />
      </label>
    </SaveForm>
  );
}
