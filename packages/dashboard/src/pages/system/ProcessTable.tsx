import type { Processes } from "../../api/types.ts";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { formatNumber } from "../../components/format.ts";

type Row = Processes["processes"][number];

const COLUMNS: Column<Row>[] = [
  { title: "Process", numeric: true, cell: ({ pid }) => pid },
  { title: "Parent", numeric: true, cell: ({ ppid }) => ppid },
  { title: "Command", cell: ({ command }) => <code>{command}</code> },
  { title: "CPU %", numeric: true, cell: ({ cpu }) => cpu.toFixed(1) },
  { title: "Memory MiB", numeric: true, cell: ({ rssKb }) => formatNumber(Math.round(rssKb / 1024)) },
];

export function ProcessTable({ processes }: { processes: Processes }) {
  return (
    <DataTable
      title={`Processes (${processes.numCpus} CPUs)`}
      columns={COLUMNS}
      rows={processes.processes}
      keyOf={({ pid }) => String(pid)}
      empty="No processes found."
    />
  );
}
