import { Icon } from "../../components/Icon.tsx";
import { Menu } from "../../components/Menu.tsx";
import { info, live } from "../../state/conversation.ts";
import type { Place } from "../../state/place.ts";
import { busySessions, sessions } from "../../state/sessions.ts";
import { ModelPicker } from "./ModelPicker.tsx";
import { sessionActions } from "./session-actions.ts";

/** Name, model and context use of the session on view. */
export function ConversationHeader({ here, onOpenSessions }: { here: Place; onOpenSessions: () => void }) {
  const session = sessions.value?.find(({ id }) => id === here.sessionId);
  const busy = live.value !== undefined || busySessions.value.has(here.sessionId ?? "");
  return (
    <div class="conversation-header">
      <button
        type="button"
        class="icon-button drawer-open"
        aria-label="Agent and sessions"
        title="Agent and sessions"
        onClick={onOpenSessions}
      >
        <Icon name="panel" />
      </button>
      <h1 class="conversation-title">{session?.name ?? info.value?.sessionName ?? "New conversation"}</h1>
      {here.sessionId && <ContextUse />}
      <ModelPicker here={here} />
      {session && (
        <Menu label="Actions for this session" icon="more" entries={sessionActions(session, busy)} />
      )}
    </div>
  );
}

function ContextUse() {
  if (!info.value) return null;
  const { contextPercent, messageCount } = info.value;
  const percent = Math.round(contextPercent);
  return (
    <span class="context" title={`${messageCount} messages; ${percent} % of the model's context is used`}>
      <meter aria-label="Context used" min={0} max={100} low={70} high={90} optimum={0} value={percent} />
      <span aria-hidden="true">{percent} %</span>
    </span>
  );
}
