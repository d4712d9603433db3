import "./usage.css";
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { client, sentence } from "../../api/client.ts";
import type { UsageReport } from "../../api/types.ts";
import { Choice } from "../../components/Choice.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { Fact } from "../../components/Fact.tsx";
import { formatDay, formatNumber } from "../../components/format.ts";
import { daysBefore, everyDay, tokensOf } from "./days.ts";
import { Plot } from "./Plot.tsx";

const RANGES = [7, 30, 90, 366];
const GROUPS = { agent: "Agent", key: "Key", model: "Model", source: "Source" } as const;
type Group = keyof typeof GROUPS;
type Row = UsageReport["rows"][number];
type Measure = "tokens" | "cost";

interface Shown {
  byDay: UsageReport;
  grouped: UsageReport;
}

/** What turns used, by day and by who or what caused it. */
export function UsagePage() {
  const range = useSignal(30);
  const group = useSignal<Group>("agent");
  const measure = useSignal<Measure>("tokens");
  const shown = useSignal<Shown | undefined>(undefined);
  const trouble = useSignal<string | undefined>(undefined);
  useEffect(() => {
    const abort = new AbortController();
    const { signal } = abort;
    const load = async () => {
      // Which day it is in the gateway's time zone, only the gateway knows.
      const { to } = await client.call("showUsage", { signal });
      const from = daysBefore(to, range.value - 1);
      const [byDay, grouped] = await Promise.all(
        ["day", group.value].map((by) =>
          client.call("showUsage", { query: { from, to, group: by }, signal }),
        ),
      );
      shown.value = { byDay: byDay!, grouped: grouped! };
      trouble.value = undefined;
    };
    load().catch((error) => {
      if (!signal.aborted) trouble.value = sentence(error);
    });
    return () => abort.abort();
  }, [range.value, group.value]);

  return (
    <main class="page">
      <h1>Usage</h1>
      <div class="toolbar">
        <Choice
          label="Days"
          value={String(range.value)}
          options={RANGES.map((days) => [String(days), `Last ${days} days`])}
          onChoose={(days) => {
            range.value = Number(days);
          }}
        />
        <Choice
          label="Show"
          value={measure.value}
          options={[
            ["tokens", "Tokens"],
            ["cost", "Cost"],
          ]}
          onChoose={(what) => {
            measure.value = what as Measure;
          }}
        />
        <Choice
          label="By"
          value={group.value}
          options={Object.entries(GROUPS)}
          onChoose={(by) => {
            group.value = by as Group;
          }}
        />
      </div>
      {trouble.value && (
        <p class="notice error" role="alert">
          {trouble.value}
        </p>
      )}
      {shown.value ? <Report shown={shown.value} measure={measure.value} /> : <p class="empty">Loading…</p>}
    </main>
  );
}

function Report({ shown: { byDay, grouped }, measure }: { shown: Shown; measure: Measure }) {
  const { total, currency, timezone } = byDay;
  const money = (value: number) => formatMoney(value, currency);
  const group = (Object.keys(GROUPS) as Group[]).find((name) => grouped.rows.some((row) => name in row));
  const counts: Column<Omit<Row, Group>>[] = [
    { title: "Turns", numeric: true, cell: ({ turns }) => formatNumber(turns) },
    { title: "Input", numeric: true, cell: ({ inputTokens }) => formatNumber(inputTokens) },
    { title: "Output", numeric: true, cell: ({ outputTokens }) => formatNumber(outputTokens) },
    { title: "Cache read", numeric: true, cell: ({ cacheReadTokens }) => formatNumber(cacheReadTokens) },
    { title: "Cache write", numeric: true, cell: ({ cacheWriteTokens }) => formatNumber(cacheWriteTokens) },
    { title: "Cost", numeric: true, cell: ({ cost }) => money(cost) },
  ];
  return (
    <>
      <dl class="facts">
        <Fact name="Turns" value={formatNumber(total.turns)} />
        <Fact name="Tokens" value={formatNumber(tokensOf(total))} />
        <Fact name="Cost" value={money(total.cost)} />
      </dl>
      {total.unpriced && (
        <p class="notice info">
          Some tokens have no price, so their cost is missing. Prices are set in gateway.spend.prices.
        </p>
      )}
      {total.estimated && (
        <p class="hint">Some tokens were not reported, and are estimated from the length of the text.</p>
      )}
      <Plot
        days={everyDay(byDay)}
        measured={measure === "tokens" ? tokensOf : ({ cost }) => cost}
        show={measure === "tokens" ? (value) => `${formatNumber(value)} tokens` : money}
        what={measure === "tokens" ? "Tokens" : "Cost"}
      />
      {group && (
        <DataTable
          title={`By ${GROUPS[group].toLowerCase()}`}
          columns={[{ title: GROUPS[group], cell: (row) => row[group] ?? "none" }, ...counts]}
          rows={[...grouped.rows].sort((a, b) => b.cost - a.cost || tokensOf(b) - tokensOf(a))}
          keyOf={(row) => row[group] ?? ""}
          empty=""
        />
      )}
      <DataTable
        title={`By day (${timezone})`}
        columns={[{ title: "Day", cell: ({ day }) => formatDay(day ?? "") }, ...counts]}
        rows={[...byDay.rows].reverse()}
        keyOf={({ day }) => day ?? ""}
        empty="Nothing was used in these days."
      />
    </>
  );
}

/** Small amounts keep the digits that say something. */
function formatMoney(value: number, currency: string): string {
  const digits = value !== 0 && value < 1 ? { maximumSignificantDigits: 2 } : {};
  return new Intl.NumberFormat(undefined, { style: "currency", currency, ...digits }).format(value);
}
