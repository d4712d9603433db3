import type { FeedEvent } from "@agent-gateway/contract";
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { Choice } from "../../components/Choice.tsx";
import { exactTime, fullTime } from "../../components/format.ts";
import { events, followEvents } from "../../state/events.ts";
import { feedLive } from "../../state/feed.ts";
import { agentName, agents } from "../../state/place.ts";
import { detailsOf, TOPICS, topicOf, wordsOf } from "./words.ts";

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
        <section class="data" aria-labelledby="events-title">
          <h2 id="events-title">Latest events</h2>
          {shown.length === 0 ? (
            <p class="empty small">
              {all?.length === 0 ? "Nothing has happened yet." : "None of the latest events match."}
            </p>
          ) : (
            <ol class="events">
              {shown.map((event) => (
                <EventLine key={event.id} event={event} />
              ))}
            </ol>
          )}
        </section>
      )}
    </main>
  );
}

function EventLine({ event }: { event: FeedEvent }) {
  const { type, timestamp, data } = event;
  const at = Date.parse(timestamp);
  const rest = [data.agentId && agentName(data.agentId), detailsOf(event)].filter(Boolean).join(", ");
  return (
    <li class="event">
      <time dateTime={timestamp} title={fullTime(at)}>
        {exactTime(at)}
      </time>
      <p>
        {wordsOf(type)} <code class="event-type">{type}</code>
        {rest && <span class="hint">{rest}</span>}
      </p>
    </li>
  );
}
