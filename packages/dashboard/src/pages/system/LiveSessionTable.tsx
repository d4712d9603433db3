import type { Status } from "../../api/types.ts";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { fullTime } from "../../components/format.ts";
import { hashOf } from "../../state/address.ts";

type Agent = Status["agents"][number];
type Row = Agent["sessions"][number] & { agentId: string };

const API_PREFIX = "api-";

const COLUMNS: Column<Row>[] = [
  { title: "Agent", cell: ({ agentId }) => agentId },
  { title: "Chat", cell: ({ chatId }) => chatId },
  { title: "Session", cell: (row) => <SessionLink row={row} /> },
  { title: "State", cell: ({ busy }) => (busy ? <span class="busy">answering</span> : "idle") },
  { title: "Process", numeric: true, cell: ({ pid }) => pid ?? "none" },
  { title: "Last activity", cell: ({ lastActivity }) => fullTime(lastActivity) },
];

function SessionLink({ row }: { row: Row }) {
  const { agentId, chatId, sessionId } = row;
  const short = sessionId.slice(0, 8);
  if (!chatId.startsWith(API_PREFIX)) return <>{short}</>;
  return (
    <a href={hashOf({ view: "chat", agentId, chatId: chatId.slice(API_PREFIX.length), sessionId })}>
      {short}
    </a>
  );
}

export function LiveSessionTable({ agents }: { agents: readonly Agent[] }) {
  return (
    <DataTable
      title="Live sessions"
      columns={COLUMNS}
      rows={agents.flatMap((agent) => agent.sessions.map((session) => ({ ...session, agentId: agent.id })))}
      keyOf={({ agentId, chatId, sessionId }) => `${agentId}/${chatId}/${sessionId}`}
      empty="No sessions are active right now."
    />
  );
}
