import type { Activity } from "../../api/types.ts";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { fileSize, formatNumber, fullTime, shortDuration } from "../../components/format.ts";
import { byHour, type Hour, sumOf, worst } from "./series.ts";
import { TimePlot } from "./TimePlot.tsx";

const orNone = (value: number | null, show: (value: number) => string) =>
  value === null ? "none" : show(value);

const COLUMNS: Column<Hour>[] = [
  { title: "From", cell: ({ at }) => fullTime(at) },
  { title: "Received", numeric: true, cell: ({ received }) => formatNumber(received) },
  { title: "Replies", numeric: true, cell: ({ replies }) => formatNumber(replies) },
  { title: "Turns", numeric: true, cell: ({ turns }) => formatNumber(turns) },
  { title: "Failed", numeric: true, cell: ({ failed }) => formatNumber(failed) },
  { title: "Nearly all turns within", numeric: true, cell: ({ p95Ms }) => orNone(p95Ms, shortDuration) },
  { title: "Most memory", numeric: true, cell: ({ memory }) => orNone(memory, fileSize) },
];

/** The last 24 hours as plots, and as a table for whoever cannot see them. */
export function Charts({ activity }: { activity: Activity }) {
  const { from, stepMs, received, turns, p50Ms, p95Ms, memory } = activity;
  const times = received.map((_, index) => (from + index * stepMs) / 1000);
  const most = worst(memory);
  return (
    <>
      {times.length < 3 ? (
        <p class="empty small">The plots begin a quarter of an hour after the start.</p>
      ) : (
        <div class="charts">
          <TimePlot
            title="Messages and turns"
            unit="every five minutes"
            said={`${formatNumber(sumOf(received))} messages received, ${formatNumber(sumOf(turns))} turns`}
            times={times}
            series={[
              { name: "Messages received", values: received, colour: "accent" },
              { name: "Turns", values: turns, colour: "ok" },
            ]}
            show={formatNumber}
          />
          <TimePlot
            title="How long turns took"
            unit="every five minutes"
            said={orNone(worst(p95Ms), (value) => `nearly all within ${shortDuration(value)}`)}
            times={times}
            series={[
              { name: "Half of them within", values: p50Ms, colour: "accent" },
              { name: "Nearly all within", values: p95Ms, colour: "warning" },
            ]}
            show={shortDuration}
          />
          <TimePlot
            title="Memory of the gateway"
            unit="without the agents' programs"
            said={orNone(most, (value) => `at most ${fileSize(value)}`)}
            times={times}
            series={[{ name: "Memory", values: memory, colour: "accent" }]}
            show={fileSize}
          />
        </div>
      )}
      <details class="hours">
        <summary>By the hour, as a table</summary>
        <DataTable
          title="By the hour"
          columns={COLUMNS}
          rows={byHour(activity)}
          keyOf={({ at }) => String(at)}
          empty=""
        />
      </details>
    </>
  );
}
