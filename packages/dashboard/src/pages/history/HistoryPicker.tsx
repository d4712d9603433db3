import { formatNumber } from "../../components/format.ts";
import { chats } from "../../state/history.ts";
import { agents } from "../../state/place.ts";
import { go } from "../../state/route.ts";

/** Chooses the agent and one of its stored chats, of any channel. */
export function HistoryPicker({
  agentId,
  chatId,
}: {
  agentId: string | undefined;
  chatId: string | undefined;
}) {
  const list = chats.value ?? [];
  return (
    <>
      <label class="field">
        <span>Agent</span>
        <select
          class="input"
          value={agentId}
          onChange={(event) =>
            go({ view: "history", agentId: event.currentTarget.value, chatId: undefined, query: "" })
          }
        >
          {(agents.value ?? []).map(({ id, name }) => (
            <option key={id} value={id}>
              {name && name !== id ? `${name} (${id})` : id}
            </option>
          ))}
        </select>
      </label>
      <label class="field">
        <span>Chat</span>
        <select
          class="input"
          value={chatId}
          disabled={list.length === 0}
          onChange={(event) => go({ view: "history", agentId, chatId: event.currentTarget.value, query: "" })}
        >
          {list.map((chat) => (
            <option key={chat.chatId} value={chat.chatId}>
              {chat.chatId} ({formatNumber(chat.messageCount)} messages)
            </option>
          ))}
        </select>
      </label>
    </>
  );
}
