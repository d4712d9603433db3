import type { Status } from "../../api/types.ts";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { formatNumber } from "../../components/format.ts";

type Row = Status["agents"][number];

const COLUMNS: Column<Row>[] = [
  { title: "Agent", cell: ({ id }) => id },
  { title: "State", cell: ({ isRunning }) => (isRunning ? "running" : "idle") },
  { title: "Live sessions", numeric: true, cell: ({ sessions }) => formatNumber(sessions.length) },
  { title: "Received", numeric: true, cell: ({ messagesReceived }) => formatNumber(messagesReceived) },
  { title: "Sent", numeric: true, cell: ({ messagesSent }) => formatNumber(messagesSent) },
];

export function AgentTable({ agents }: { agents: readonly Row[] }) {
  return (
    <DataTable
      title="Agents"
      columns={COLUMNS}
      rows={agents}
      keyOf={({ id }) => id}
      empty="No agent is configured."
    />
  );
}
