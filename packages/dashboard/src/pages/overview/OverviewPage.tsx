import "./overview.css";
import { useEffect } from "preact/hooks";
import { Fact } from "../../components/Fact.tsx";
import { ago, fileSize, formatNumber, shortDuration } from "../../components/format.ts";
import { activity, loadActivity, loadWaits } from "../../state/overview.ts";
import { poll } from "../../state/poll.ts";
import { status } from "../../state/sessions.ts";
import { Charts } from "./Charts.tsx";
import { NextSteps } from "./NextSteps.tsx";
import { Running } from "./Running.tsx";
import { sumOf, worst } from "./series.ts";
import { WaitingForYou } from "./WaitingForYou.tsx";

/** A look now and then shows how the memory develops, of which no event tells. */
const ACTIVITY_MS = 60_000;
const WAITS_MS = 15_000;

/** The first page: what runs, what waits for a person, and how the last 24 hours went. */
export function OverviewPage() {
  useEffect(
    () => poll(loadActivity, ACTIVITY_MS, { by: ["message", "turn", "gateway"], wholly: () => false }),
    [],
  );
  const known = status.value !== undefined;
  useEffect(() => {
    if (!known) return undefined;
    return poll((signal) => loadWaits(status.peek()?.agents ?? [], signal), WAITS_MS, {
      by: ["agent", "channel", "config", "delivery", "incident"],
    });
  }, [known]);
  const now = status.value;
  return (
    <main class="page">
      <h1>Overview</h1>
      {!now ? (
        <p class="empty late">Loading…</p>
      ) : (
        <>
          <NextSteps status={now} />
          <WaitingForYou status={now} />
          <Running agents={now.agents} />
          <LastDay startedAt={now.startedAt} />
        </>
      )}
    </main>
  );
}

function LastDay({ startedAt }: { startedAt: number }) {
  const shown = activity.value;
  if (!shown) return null;
  const { received, replies, turns, failed, p95Ms, memory, from } = shown;
  const whole = from > startedAt + shown.stepMs;
  const slowest = worst(p95Ms);
  return (
    <section class="last-day" aria-labelledby="last-day-title">
      <h2 id="last-day-title">{whole ? "Last 24 hours" : `Since the gateway started, ${ago(startedAt)}`}</h2>
      <dl class="facts">
        <Fact name="Messages received" value={formatNumber(sumOf(received))} />
        <Fact name="Replies" value={formatNumber(sumOf(replies))} />
        <Fact name="Turns" value={formatNumber(sumOf(turns))} />
        <Fact name="Failed turns" value={formatNumber(sumOf(failed))} />
        <Fact name="Nearly all turns within" value={slowest === null ? "none yet" : shortDuration(slowest)} />
        <Fact name="Memory now" value={fileSize(memory.at(-1) ?? 0)} />
      </dl>
      <Charts activity={shown} />
    </section>
  );
}
