import type { RuntimeStatus } from "@agent-gateway/contract";
import type { Status } from "../../api/types.ts";
import { AgentNotice } from "../../components/AgentNotice.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { formatNumber, fullTime } from "../../components/format.ts";
import { problemOf, runtimeName } from "../../components/runtime.ts";
import { agentName, agents } from "../../state/place.ts";

type Row = Status["agents"][number] & { runs: RuntimeStatus | undefined };

const COLUMNS: Column<Row>[] = [
  { title: "Agent", cell: ({ id }) => id },
  { title: "Runs on", cell: ({ runs, runtime }) => (runs ? runtimeName(runs) : runtime) },
  { title: "State", cell: (row) => <State row={row} /> },
  { title: "Live sessions", numeric: true, cell: ({ sessions }) => formatNumber(sessions.length) },
  { title: "Received", numeric: true, cell: ({ messagesReceived }) => formatNumber(messagesReceived) },
  { title: "Sent", numeric: true, cell: ({ messagesSent }) => formatNumber(messagesSent) },
];

function State({ row: { isRunning, problem, runs } }: { row: Row }) {
  if (problem || (runs && problemOf(runs))) return <span class="state down">cannot start</span>;
  return <>{isRunning ? "running" : "idle"}</>;
}

/** The agents of this gateway, each with what keeps it from working. */
export function AgentTable({ agents: rows }: { agents: Status["agents"] }) {
  const runtimes = new Map((agents.value ?? []).map(({ id, runtime_status }) => [id, runtime_status]));
  return (
    <>
      <DataTable
        title="Agents"
        columns={COLUMNS}
        rows={rows.map((row) => ({ ...row, runs: runtimes.get(row.id) }))}
        keyOf={({ id }) => id}
        empty="No agents are configured."
      />
      {[...runtimes].map(([id, runtime]) => (
        <Trouble key={id} id={id} runtime={runtime} />
      ))}
    </>
  );
}

function Trouble({ id, runtime }: { id: string; runtime: RuntimeStatus }) {
  const { warnings, lastError } = runtime;
  if (!problemOf(runtime) && warnings.length === 0 && !lastError) return null;
  return (
    <section class="trouble" aria-label={`Problems of ${id}`}>
      <h3>{agentName(id)}</h3>
      <AgentNotice status={runtime} warnings />
      {lastError && (
        <p class="hint">
          Last error, {fullTime(lastError.at)}: {lastError.message}
        </p>
      )}
    </section>
  );
}
