import type { Session } from "../../api/types.ts";
import { fullTime, shortTime } from "../../components/format.ts";
import { Menu, type MenuEntry } from "../../components/Menu.tsx";
import { hashOf } from "../../state/address.ts";
import type { Place } from "../../state/place.ts";
import { busySessions, sessions } from "../../state/sessions.ts";
import { sessionActions } from "./session-actions.ts";

/** Sessions of the chat, the latest first. */
export function SessionList({ here, onOpened }: { here: Place; onOpened: () => void }) {
  const list = sessions.value;
  if (!list) return <p class="empty small">Loading sessions…</p>;
  if (list.length === 0) return <p class="empty small">No sessions yet. Your first message starts one.</p>;
  return (
    <nav class="sessions" aria-label="Sessions">
      <ul>
        {list.map((session) => (
          <SessionRow key={session.id} here={here} session={session} onOpened={onOpened} />
        ))}
      </ul>
    </nav>
  );
}

function SessionRow({ here, session, onOpened }: { here: Place; session: Session; onOpened: () => void }) {
  const busy = busySessions.value.has(session.id);
  const entries: MenuEntry[] = sessionActions(session, busy);
  return (
    <li class="session">
      <a
        class="session-link"
        href={hashOf({ view: "chat", ...here, sessionId: session.id })}
        aria-current={here.sessionId === session.id ? "true" : undefined}
        onClick={onOpened}
      >
        <span class="session-name">{session.name || "Untitled"}</span>
        <span class="session-meta">
          {busy ? (
            <span class="busy">answering</span>
          ) : (
            <time title={fullTime(session.lastActivity)}>{shortTime(session.lastActivity)}</time>
          )}
        </span>
      </a>
      <Menu label={`Actions for ${session.name || "this session"}`} icon="more" entries={entries} />
    </li>
  );
}
