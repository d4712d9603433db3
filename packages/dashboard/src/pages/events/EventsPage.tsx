import type { FeedEvent } from "@agent-gateway/contract";
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { Choice } from "../../components/Choice.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { fullTime } from "../../components/format.ts";
import { events, followEvents } from "../../state/events.ts";
import { feedLive } from "../../state/feed.ts";
import { agentName, agents } from "../../state/place.ts";
import { detailsOf, TOPICS, topicOf, wordsOf } from "./words.ts";

const COLUMNS: Column<FeedEvent>[] = [
  {
    title: "When",
    cell: ({ timestamp }) => <time dateTime={timestamp}>{fullTime(Date.parse(timestamp))}</time>,
  },
  {
    title: "What happened",
    cell: ({ type }) => (
      <>
        {wordsOf(type)} <code class="event-type">{type}</code>
      </>
    ),
  },
  { title: "Agent", cell: ({ data }) => (data.agentId ? agentName(data.agentId) : "") },
  { title: "Details", cell: (event) => detailsOf(event) },
];

/** What happens at the gateway, as it happens. */
export function EventsPage() {
  const topic = useSignal("");
  const agent = useSignal("");
  useEffect(followEvents, []);
  const all = events.value;
  const shown = all?.filter(
    (event) =>
      (topic.value === "" || topicOf(event) === topic.value) &&
      (agent.value === "" || event.data.agentId === agent.value),
  );
  return (
    <main class="page">
      <h1>Events</h1>
      <p class={feedLive.value ? "state live" : "state down"} role="status">
        {feedLive.value
          ? "New events appear by themselves."
          : "The gateway's feed is interrupted; trying again…"}
      </p>
      <div class="filters">
        <Choice
          label="About"
          value={topic.value}
          options={[["", "Everything"], ...TOPICS]}
          onChoose={(value) => {
            topic.value = value;
          }}
        />
        <Choice
          label="Agent"
          value={agent.value}
          options={[
            ["", "All agents"],
            ...(agents.value ?? []).map(({ id }) => [id, agentName(id)] as const),
          ]}
          onChoose={(value) => {
            agent.value = value;
          }}
        />
      </div>
      {!shown ? (
        <p class="empty late">Loading…</p>
      ) : (
        <DataTable
          title="Latest events"
          columns={COLUMNS}
          rows={shown}
          keyOf={({ id }) => id}
          empty={all?.length === 0 ? "Nothing has happened yet." : "None of the latest events match."}
        />
      )}
    </main>
  );
}
