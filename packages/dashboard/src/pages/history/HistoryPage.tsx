import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Message } from "../../api/types.ts";
import { Icon } from "../../components/Icon.tsx";
import { browse, chats, loadChats, search } from "../../state/history.ts";
import { report } from "../../state/notices.ts";
import { agents, homePlace } from "../../state/place.ts";
import { go, route } from "../../state/route.ts";
import { Browse } from "./Browse.tsx";
import { Found } from "./Found.tsx";
import { HistoryPicker } from "./HistoryPicker.tsx";

/** Shows and searches the history of any chat of an agent. */
export function HistoryPage() {
  const at = route.value;
  const query = at.view === "history" ? at.query : "";
  const agentId = (at.view === "history" && at.agentId) || homePlace().agentId;
  const wanted = at.view === "history" ? at.chatId : undefined;
  const known = agents.value;
  const list = chats.value;
  // A chat that says nothing yet is not in the list.
  const chatId = list?.some((chat) => chat.chatId === wanted) ? wanted : list?.[0]?.chatId;
  const from = useSignal<Message | undefined>(undefined);

  useEffect(() => {
    if (!agentId || !known) return undefined;
    const control = new AbortController();
    loadChats(agentId, control.signal).catch((error) => control.signal.aborted || report(error));
    return () => control.abort();
  }, [agentId, known]);
  useEffect(() => {
    from.value = undefined;
  }, [agentId, chatId, query]);
  useEffect(() => {
    if (!agentId || !chatId) return undefined;
    const control = new AbortController();
    const place = { agentId, chatId };
    const task =
      query && !from.value ? search(place, query, control.signal) : browse(place, control.signal, from.value);
    task.catch((error) => control.signal.aborted || report(error));
    return () => control.abort();
  }, [agentId, chatId, query, from.value]);

  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const text = new FormData(event.currentTarget as HTMLFormElement).get("q");
    // The chat of the address stays the one that is meant, also while the list of chats is still on its way.
    go({ view: "history", agentId, chatId: wanted ?? chatId, query: String(text ?? "").trim() });
  };

  return (
    <main class="page">
      <h1>History</h1>
      <div class="toolbar">
        <HistoryPicker agentId={agentId} chatId={chatId} />
        <search>
          <form class="search" onSubmit={submit}>
            <label class="field">
              <span>Search this chat</span>
              <input
                key={query}
                class="input"
                type="search"
                name="q"
                defaultValue={query}
                placeholder="Any text"
                maxLength={500}
              />
            </label>
            <button type="submit" class="button" disabled={list?.length === 0}>
              <Icon name="search" /> Search
            </button>
          </form>
        </search>
      </div>
      {!list && <p class="empty">Loading chats…</p>}
      {list?.length === 0 && <p class="empty">No one has written to this agent yet.</p>}
      {agentId && chatId && query && !from.value && (
        <Found
          place={{ agentId, chatId }}
          query={query}
          onOpen={(message) => {
            from.value = message;
          }}
        />
      )}
      {agentId && chatId && (!query || from.value) && (
        <Browse
          place={{ agentId, chatId }}
          {...(from.value && {
            onBack: () => {
              from.value = undefined;
            },
          })}
        />
      )}
    </main>
  );
}
