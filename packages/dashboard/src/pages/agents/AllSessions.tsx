import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { client } from "../../api/client.ts";
import type { SessionRecord } from "../../api/types.ts";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { formatNumber, shortTime } from "../../components/format.ts";
import { hashOf } from "../../state/address.ts";
import { agentName } from "../../state/place.ts";
import { poll } from "../../state/poll.ts";

type Row = SessionRecord & { agentId: string };

const API_PREFIX = "api-";
const EVERY_MS = 15_000;
/** More rows make the page slow, and nobody reads them; the history has them all. */
const MOST = 200;

const COLUMNS: Column<Row>[] = [
  { title: "Agent", cell: ({ agentId }) => agentName(agentId) },
  { title: "Chat", cell: ({ chatId }) => chatId },
  { title: "Session", cell: (row) => <SessionLink row={row} /> },
  { title: "Messages", numeric: true, cell: ({ messageCount }) => formatNumber(messageCount) },
  { title: "Last activity", cell: ({ lastActivity }) => shortTime(lastActivity) },
];

function SessionLink({ row }: { row: Row }) {
  const { agentId, chatId, sessionId } = row;
  const to = chatId.startsWith(API_PREFIX)
    ? hashOf({ view: "chat", agentId, chatId: chatId.slice(API_PREFIX.length), sessionId })
    : hashOf({ view: "history", agentId, chatId, query: "" });
  return <a href={to}>{row.sessionName ?? sessionId.slice(0, 8)}</a>;
}

/** The sessions of all agents, or of one, the latest first. */
export function AllSessions({ agentId }: { agentId?: string }) {
  const rows = useSignal<readonly Row[] | undefined>(undefined);
  useEffect(
    () =>
      poll(
        async (signal) => {
          const reply = await client.call("allSessions", { signal });
          rows.value = reply.agents
            .flatMap((agent) => agent.sessions.map((session) => ({ ...session, agentId: agent.agentId })))
            .sort((a, b) => b.lastActivity - a.lastActivity);
        },
        EVERY_MS,
        { by: ["session", "turn", "agent"] },
      ),
    [],
  );
  const shown = rows.value?.filter((row) => agentId === undefined || row.agentId === agentId);
  if (!shown) return null;
  return (
    <>
      <DataTable
        title={agentId === undefined ? "Sessions of all agents" : "Sessions"}
        columns={agentId === undefined ? COLUMNS : COLUMNS.slice(1)}
        rows={shown.slice(0, MOST)}
        keyOf={(row) => `${row.agentId}/${row.chatId}/${row.sessionId}`}
        empty="Nobody has written yet."
      />
      {shown.length > MOST && (
        <p class="hint">
          These are the latest {formatNumber(MOST)} of {formatNumber(shown.length)}.
        </p>
      )}
    </>
  );
}
