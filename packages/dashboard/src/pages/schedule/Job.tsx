import type { CronJob } from "@agent-gateway/contract";
import { useSignal } from "@preact/signals";
import { ask } from "../../components/Dialog.tsx";
import { ago, formatNumber, fullTime } from "../../components/format.ts";
import { announce, attempt } from "../../state/notices.ts";
import { agentName } from "../../state/place.ts";
import { deleteJob, runJob, saveJob } from "../../state/schedule.ts";
import { JobForm } from "./JobForm.tsx";
import { Runs } from "./Runs.tsx";

/** When a job runs, as it was written. */
function timesOf({ scheduleKind, schedule, scheduleAt, timezone }: CronJob): string {
  if (scheduleKind === "at") return `once, ${scheduleAt ? fullTime(Date.parse(scheduleAt)) : ""}`;
  return scheduleKind === "every" ? `every ${schedule}` : `${schedule} (${timezone})`;
}

function lastOf({ state: { lastRunAt, lastStatus, consecutiveErrors } }: CronJob): string {
  if (lastRunAt === null) return "never ran";
  const outcome = { ok: "worked", error: "failed", skipped: "was skipped" }[lastStatus ?? "ok"];
  const times = consecutiveErrors > 1 ? `, ${formatNumber(consecutiveErrors)} times in a row` : "";
  return lastStatus === null ? `ran ${ago(lastRunAt)}` : `${outcome} ${ago(lastRunAt)}${times}`;
}

/** One job: when it runs, what came of it, and what can be done with it. */
export function Job({ job }: { job: CronJob }) {
  const open = useSignal<"runs" | "edit" | undefined>(undefined);
  const { id, name, agentId, enabled, state } = job;
  const show = (what: "runs" | "edit") => {
    open.value = open.value === what ? undefined : what;
  };
  const remove = async () => {
    const sure = await ask({
      title: "Delete the job?",
      text: `“${name}” and what its runs put out will be deleted. A run that is under way will be stopped.`,
      action: "Delete",
      danger: true,
    });
    if (sure !== undefined) await deleteJob(id);
  };
  const run = async () => {
    await runJob(id);
    open.value = "runs";
    announce(`${name} is running.`);
  };
  const button = (label: string, act: () => void, expanded?: boolean) => (
    <button
      type="button"
      class="button"
      aria-label={`${label}: ${name}`}
      aria-expanded={expanded}
      onClick={act}
    >
      {label}
    </button>
  );
  return (
    <li class="row job">
      <p>
        <strong>{name}</strong>
        <span>
          {agentName(agentId)}, {timesOf(job)}
        </span>
        <span class="hint">
          {!enabled ? "Disabled" : state.nextRunAt ? `Next: ${fullTime(state.nextRunAt)}` : "No next run"};{" "}
          {lastOf(job)}
        </span>
        {state.lastError && <span class="failure">{state.lastError}</span>}
      </p>
      <span class="decision">
        {button("Run now", () => void attempt(run))}
        {button("Runs", () => show("runs"), open.value === "runs")}
        {button("Edit", () => show("edit"), open.value === "edit")}
        {button(enabled ? "Disable" : "Enable", () => void attempt(() => saveJob(id, { enabled: !enabled })))}
        {button("Delete…", () => void attempt(remove))}
      </span>
      {open.value === "runs" && <Runs job={job} />}
      {open.value === "edit" && <JobForm job={job} />}
    </li>
  );
}
