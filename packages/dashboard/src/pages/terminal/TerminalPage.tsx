import "./terminal-page.css";
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { client, sentence } from "../../api/client.ts";
import type { SessionRecord } from "../../api/types.ts";
import { ask, DialogHost } from "../../components/Dialog.tsx";
import { shortTime } from "../../components/format.ts";
import { TerminalScreen } from "../../components/terminal/TerminalScreen.tsx";
import { hashOf, pageRoute } from "../../state/address.ts";
import { attempt, notify } from "../../state/notices.ts";
import { agentName } from "../../state/place.ts";
import { poll } from "../../state/poll.ts";
import { route } from "../../state/route.ts";

type Row = SessionRecord & { agentId: string };

const API_PREFIX = "api-";
const EVERY_MS = 15_000;
/** More rows make the page slow, and nobody reads them. */
const MOST = 100;

const nameOf = ({ sessionName, sessionId }: Row) => sessionName ?? sessionId.slice(0, 8);

/** The sessions, or the terminal of one: watched, typed into, read as text. */
export function TerminalPage() {
  const rows = useSignal<readonly Row[] | undefined>(undefined);
  useEffect(
    () =>
      poll(
        async (signal) => {
          const { agents } = await client.call("allSessions", { signal });
          rows.value = agents
            .flatMap(({ agentId, sessions }) => sessions.map((session) => ({ ...session, agentId })))
            .sort((a, b) => b.lastActivity - a.lastActivity);
        },
        EVERY_MS,
        { by: ["session", "turn", "agent"] },
      ),
    [],
  );
  const at = route.value;
  const wanted = at.view === "page" ? at.path[0] : undefined;
  const row = rows.value?.find(({ sessionId }) => sessionId === wanted);
  return (
    <main class="page">
      {!rows.value ? (
        <>
          <h1>Terminal</h1>
          <p class="empty late">Loading…</p>
        </>
      ) : row ? (
        <Session key={row.sessionId} row={row} />
      ) : (
        <SessionRows rows={rows.value} lost={wanted !== undefined} />
      )}
      <DialogHost />
    </main>
  );
}

function SessionRows({ rows, lost }: { rows: readonly Row[]; lost: boolean }) {
  return (
    <>
      <h1>Terminal</h1>
      {lost && (
        <p class="notice warning" role="status">
          There is no such session any more.
        </p>
      )}
      <p class="hint">
        Watch the program of a session, and type into it. Programs run in a terminal where gateway.headless is
        false.
      </p>
      {rows.length === 0 ? (
        <p class="empty">Nobody has written yet, so there are no sessions.</p>
      ) : (
        <ul class="rows" aria-label="Sessions">
          {rows.slice(0, MOST).map((row) => (
            <li key={row.sessionId} class="row">
              <p>
                <strong>{nameOf(row)}</strong>
                <span class="hint">
                  {agentName(row.agentId)}, chat {row.chatId}, {shortTime(row.lastActivity)}
                </span>
              </p>
              <a
                class="button"
                aria-label={`Open the terminal of ${nameOf(row)}`}
                href={hashOf(pageRoute("terminal", row.sessionId))}
              >
                Open
              </a>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function Session({ row }: { row: Row }) {
  const { agentId, sessionId, chatId } = row;
  const text = useSignal<string | undefined>(undefined);
  /** Another number is another connection. */
  const opened = useSignal(0);
  const address = async () => {
    const { ticket } = await client.call("ptyStreamTicket", { body: { agentId, sessionId } });
    const base = location.origin.replace(/^http/, "ws");
    return `${base}/api/v1/agents/${encodeURIComponent(agentId)}/pty-stream?ticket=${ticket}`;
  };
  const read = async () => {
    text.value = (await client.call("sessionScreen", { params: { sessionId } })).text;
  };
  const restart = async () => {
    const sure = await ask({
      title: "Restart the program?",
      text: "An answer that it is writing is stopped. The conversation goes on.",
      action: "Restart",
    });
    if (sure === undefined) return;
    const body = { chat_id: chatId.slice(API_PREFIX.length) };
    await client.call("restartSession", { params: { agentId, sessionId }, body });
    notify("The program has been restarted.");
    opened.value++;
  };
  return (
    <>
      <p>
        <a href={hashOf(pageRoute("terminal"))}>All sessions</a>
      </p>
      <h1>Terminal of {nameOf(row)}</h1>
      <TerminalScreen key={opened.value} address={address} sentence={sentence} />
      <div class="toolbar">
        <button type="button" class="button" onClick={() => attempt(read)}>
          Show the screen as text
        </button>
        {chatId.startsWith(API_PREFIX) && (
          <button type="button" class="button" onClick={() => attempt(restart)}>
            Restart…
          </button>
        )}
      </div>
      {text.value !== undefined && (
        <section aria-labelledby="screen-text">
          <h2 id="screen-text">The screen as text</h2>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by the keyboard */}
          <pre class="screen-text" tabIndex={0}>
            {text.value}
          </pre>
        </section>
      )}
    </>
  );
}
