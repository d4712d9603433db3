import { useSignal } from "@preact/signals";
import { AgentNotice } from "../../components/AgentNotice.tsx";
import { DialogHost } from "../../components/Dialog.tsx";
import { agents, place } from "../../state/place.ts";
import { Composer } from "./Composer.tsx";
import { ConversationHeader } from "./ConversationHeader.tsx";
import { MessageList } from "./MessageList.tsx";
import { Sidebar } from "./Sidebar.tsx";

export function ChatPage() {
  const drawer = useSignal(false);
  const here = place.value;
  if (!here) {
    return (
      <main class="page">
        {agents.value?.length === 0 ? (
          <p class="empty">
            This gateway has no agents yet. Add one to its configuration, then reload this page.
          </p>
        ) : (
          <p class="empty">Loading agents…</p>
        )}
      </main>
    );
  }
  const status = agents.value?.find(({ id }) => id === here.agentId)?.runtime_status;
  const close = () => {
    drawer.value = false;
  };
  return (
    <div class="chat">
      <Sidebar here={here} open={drawer.value} onClose={close} />
      <main class="conversation">
        <ConversationHeader
          here={here}
          onOpenSessions={() => {
            drawer.value = true;
          }}
        />
        {/* Warnings last for good, so they stand where a conversation begins and on the status page. */}
        <AgentNotice status={status} warnings={!here.sessionId} />
        <MessageList key={`${here.agentId}/${here.chatId}/${here.sessionId}`} here={here} />
        <Composer here={here} />
      </main>
      <DialogHost />
    </div>
  );
}
