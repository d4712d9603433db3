import { CHAT_ID, MAX_CHAT_ID_CHARS } from "@agent-gateway/contract";
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { client } from "../../api/client.ts";
import { ask } from "../../components/Dialog.tsx";
import { runtimeName } from "../../components/runtime.ts";
import { agents, DEFAULT_CHAT, type Place } from "../../state/place.ts";
import { poll } from "../../state/poll.ts";
import { go } from "../../state/route.ts";

/** Stored name of a chat that began over the API. */
const API_PREFIX = "api-";
const OTHER = "\0other";
/** How often to look for chats that somebody else began. */
const CHATS_MS = 60_000;

const moveTo = (agentId: string, chatId: string) =>
  go({ view: "chat", agentId, chatId, sessionId: undefined });

export function AgentPicker({ here }: { here: Place }) {
  const known = agents.value ?? [];
  const agent = known.find(({ id }) => id === here.agentId);
  return (
    <label class="field">
      <span>Agent</span>
      <select
        class="input"
        value={here.agentId}
        title={agent?.description}
        onChange={(event) => moveTo(event.currentTarget.value, here.chatId)}
      >
        {known.map(({ id, name }) => (
          <option key={id} value={id}>
            {name && name !== id ? `${name} (${id})` : id}
          </option>
        ))}
      </select>
      {agent && <span class="runtime">Runs on {runtimeName(agent.runtime_status)}</span>}
    </label>
  );
}

/** Chooses the chat, the name under which sessions are kept apart; any can be named. */
export function ChatPicker({ here }: { here: Place }) {
  const stored = useSignal<readonly string[]>([]);
  useEffect(
    () =>
      poll(
        async (signal) => {
          const { chats } = await client.call("listChats", { params: { agentId: here.agentId }, signal });
          const own = chats.filter(({ chatId }) => chatId.startsWith(API_PREFIX));
          stored.value = own.map(({ chatId }) => chatId.slice(API_PREFIX.length));
        },
        CHATS_MS,
        { by: ["session"] },
      ),
    [here.agentId],
  );

  const choose = async (select: HTMLSelectElement) => {
    if (select.value !== OTHER) return moveTo(here.agentId, select.value);
    select.value = here.chatId;
    const named = await ask({
      title: "Open another chat",
      text: "Each chat has its own sessions. Enter the id of an existing chat, or of a new one.",
      field: {
        label: "Chat id",
        value: "",
        maxLength: MAX_CHAT_ID_CHARS,
        pattern: CHAT_ID,
        hint: "1 to 128 letters, digits or . _ @ : + -",
      },
      action: "Open",
    });
    if (named !== undefined) moveTo(here.agentId, named);
  };

  const ids = [...new Set([here.chatId, DEFAULT_CHAT, ...stored.value])];
  return (
    <label class="field">
      <span>Chat</span>
      <select class="input" value={here.chatId} onChange={(event) => choose(event.currentTarget)}>
        {ids.map((id) => (
          <option key={id} value={id}>
            {id}
          </option>
        ))}
        <option value={OTHER}>Another chat…</option>
      </select>
    </label>
  );
}
