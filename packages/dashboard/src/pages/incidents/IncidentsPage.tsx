import type { IncidentAction } from "@agent-gateway/contract";
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { ago, fullTime } from "../../components/format.ts";
import { type AgentIncident, actOn, followIncidents, incidents } from "../../state/incidents.ts";
import { announce, attempt } from "../../state/notices.ts";
import { agentName, agents } from "../../state/place.ts";

/** How an agent is stuck, after its name. */
const STAGES: Record<AgentIncident["stage"], string> = {
  not_ready: "is not starting up",
  no_output: "has stopped responding",
  dialog: "is waiting at a question on its screen",
  busy_screen: "says that it is working, but nothing happens",
  exited: "stopped unexpectedly",
};
const ACTIONS: Record<IncidentAction, string> = {
  key: "Press a key",
  restart: "Restart the program",
  headless: "Go on without a terminal",
  resend: "Send the message again",
};
const DONE: Record<IncidentAction, string> = {
  key: "A key was pressed",
  restart: "The program was restarted",
  headless: "It went on without a terminal",
  resend: "The message was sent again",
};
const OUTCOMES: Record<AgentIncident["outcome"], string> = {
  open: "Open",
  recovered: "It went on",
  gave_up: "Nothing helped",
  ended: "The turn ended",
};

const done = ({ actions }: AgentIncident) =>
  actions
    .map(({ action, by, ok }) => {
      const what = ok ? DONE[action] : `${ACTIONS[action]}: not possible`;
      return `${what} (${by === "person" ? "by a person" : "by itself"})`;
    })
    .join("; ");

const COLUMNS: Column<AgentIncident>[] = [
  { title: "When", cell: ({ detectedAt }) => fullTime(detectedAt) },
  { title: "What", cell: ({ agentId, stage }) => `${agentName(agentId)} ${STAGES[stage]}` },
  { title: "Evidence", cell: ({ evidence }) => evidence },
  { title: "Done about it", cell: (one) => done(one) || "Nothing" },
  { title: "Outcome", cell: ({ outcome }) => OUTCOMES[outcome] },
];

/** Turns that are or were stuck, and what can be done about them. */
export function IncidentsPage() {
  const ids = agents.value?.map(({ id }) => id);
  useEffect(() => (ids ? followIncidents(ids) : undefined), [ids?.join()]);
  const all = incidents.value;
  const open = all?.filter(({ closedAt }) => closedAt === null);
  return (
    <main class="page">
      <h1>Incidents</h1>
      {!all || !open ? (
        <p class="empty late">Loading…</p>
      ) : (
        <>
          <section class="data" aria-labelledby="open-title">
            <h2 id="open-title">Stuck now</h2>
            {open.length === 0 ? (
              <p class="empty small">No agent is stuck.</p>
            ) : (
              <ul class="rows">
                {open.map((one) => (
                  <OpenIncident key={one.id} incident={one} />
                ))}
              </ul>
            )}
          </section>
          <DataTable
            title="Over"
            columns={COLUMNS}
            rows={all.filter(({ closedAt }) => closedAt !== null)}
            keyOf={({ id }) => id}
            empty="Nothing has been stuck since the gateway started."
          />
        </>
      )}
    </main>
  );
}

function OpenIncident({ incident }: { incident: AgentIncident }) {
  const busy = useSignal(false);
  const { agentId, stage, evidence, chatId, detectedAt, allowed } = incident;
  const title = `${agentName(agentId)} ${STAGES[stage]}`;
  const act = async (action: IncidentAction) => {
    busy.value = true;
    if (await attempt(() => actOn(incident, action))) announce(`${DONE[action]}.`);
    busy.value = false;
  };
  return (
    <li class="row">
      <p>
        <strong>{title}</strong>
        <span class="hint">
          {chatId}, noticed {ago(detectedAt)}. {evidence} {done(incident)}
        </span>
      </p>
      <span class="decision">
        {allowed.map((action) => (
          <button
            key={action}
            type="button"
            class="button"
            aria-label={`${ACTIONS[action]}: ${title}`}
            disabled={busy.value}
            onClick={() => act(action)}
          >
            {ACTIONS[action]}
          </button>
        ))}
      </span>
    </li>
  );
}
