import type { CronJob, CronRun } from "@agent-gateway/contract";
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { fullTime, shortDuration } from "../../components/format.ts";
import { poll } from "../../state/poll.ts";
import { loadRuns } from "../../state/schedule.ts";

const EVERY_MS = 5000;
const STATUS: Readonly<Record<CronRun["status"], string>> = {
  running: "running",
  ok: "worked",
  error: "failed",
  skipped: "skipped",
  interrupted: "cut off",
};
const TRIGGER: Readonly<Record<CronRun["trigger"], string>> = {
  schedule: "on time",
  manual: "by hand",
  catch_up: "made up for a missed run",
};

/** The latest runs of a job, with what they put out. */
export function Runs({ job: { id, name } }: { job: CronJob }) {
  const runs = useSignal<readonly CronRun[] | undefined>(undefined);
  useEffect(
    () =>
      poll(
        async (signal) => {
          runs.value = await loadRuns(id, signal);
        },
        EVERY_MS,
        {
          by: ["cron", "turn"],
          wholly: () => runs.peek()?.every(({ status }) => status !== "running") ?? false,
        },
      ),
    [id],
  );
  const list = runs.value;
  return (
    <section class="job-part" aria-label={`Runs of ${name}`}>
      {!list ? (
        <p class="empty late">Loading…</p>
      ) : list.length === 0 ? (
        <p class="empty small">It has not run yet.</p>
      ) : (
        <ol class="events">
          {list.map((run) => (
            <Run key={run.id} run={run} />
          ))}
        </ol>
      )}
    </section>
  );
}

function Run({ run }: { run: CronRun }) {
  const { runAt, status, trigger, durationMs, output, error, deliveries } = run;
  const sent = deliveries.map(({ channel, chatId, state }) => `${channel} ${chatId}: ${state}`).join(", ");
  return (
    <li class="run">
      <p>
        {fullTime(runAt)}: <strong class={status === "running" ? "busy" : ""}>{STATUS[status]}</strong>
        <span class="hint">
          {" "}
          {TRIGGER[trigger]}
          {durationMs !== null && `, ${shortDuration(durationMs)}`}
          {sent && `, ${sent}`}
        </span>
      </p>
      {error && <p class="failure">{error}</p>}
      {output && (
        <details class="fold">
          <summary>Output</summary>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long output must be scrollable by keyboard. */}
          <pre tabIndex={0} class="run-output">
            {output}
          </pre>
        </details>
      )}
    </li>
  );
}
