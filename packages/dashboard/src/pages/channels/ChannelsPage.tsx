import { useEffect } from "preact/hooks";
import { DialogHost } from "../../components/Dialog.tsx";
import { loadOverview, overview, stale } from "../../state/channels.ts";
import { agents, homePlace } from "../../state/place.ts";
import { poll } from "../../state/poll.ts";
import { go, route } from "../../state/route.ts";
import { ChannelCard } from "./ChannelCard.tsx";
import { NotConfirmed } from "./NotConfirmed.tsx";
import { Trace } from "./Trace.tsx";
import { WaitingList } from "./WaitingList.tsx";

const EVERY_MS = 3000;

/** No event tells how the linking of a phone goes on. */
const isSettled = () => overview.peek()?.devices.length === 0;

/** The chat channels of one agent: their state, who waits, and who may write. */
export function ChannelsPage() {
  const at = route.value;
  const known = agents.value;
  const wanted = at.view === "channels" ? at.agentId : undefined;
  const agentId = known?.some(({ id }) => id === wanted) ? wanted : homePlace().agentId;

  useEffect(() => {
    if (!agentId || !known) return undefined;
    return poll(
      async (signal) => {
        try {
          await loadOverview(agentId, signal);
          stale.value = false;
        } catch (error) {
          if (!signal.aborted) stale.value = true;
          throw error;
        }
      },
      EVERY_MS,
      { by: ["agent", "channel", "config", "delivery", "message", "turn"], wholly: isSettled },
    );
  }, [agentId, known]);

  const shown = overview.value?.agentId === agentId ? overview.value : undefined;
  return (
    <main class="page">
      <h1>Channels</h1>
      <label class="field channel-agent">
        <span>Agent</span>
        <select
          class="input"
          value={agentId}
          onChange={(event) => go({ view: "channels", agentId: event.currentTarget.value })}
        >
          {(known ?? []).map(({ id, name }) => (
            <option key={id} value={id}>
              {name && name !== id ? `${name} (${id})` : id}
            </option>
          ))}
        </select>
      </label>
      {stale.value && (
        <p class="notice error" role="alert">
          The gateway is not responding. This is its last known state.
        </p>
      )}
      {!shown ? (
        <p class="empty">{known?.length === 0 ? "This gateway has no agents yet." : "Loading…"}</p>
      ) : (
        <>
          <WaitingList agentId={shown.agentId} waiting={shown.waiting} />
          <NotConfirmed agentId={shown.agentId} deliveries={shown.deliveries} />
          <div class="channels">
            {shown.channels.map((state) => (
              <ChannelCard key={`${shown.agentId}/${state.channel}`} overview={shown} state={state} />
            ))}
          </div>
          <Trace key={shown.agentId} agentId={shown.agentId} />
        </>
      )}
      <DialogHost />
    </main>
  );
}
