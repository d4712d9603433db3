import { useEffect } from "preact/hooks";
import { DialogHost } from "../../components/Dialog.tsx";
import { poll } from "../../state/poll.ts";
import { jobs, loadJobs } from "../../state/schedule.ts";
import { Job } from "./Job.tsx";
import { JobForm } from "./JobForm.tsx";

const EVERY_MS = 15_000;

/** What agents do at set times: jobs with their runs. */
export function SchedulePage() {
  // No event tells of a job that was made or changed elsewhere.
  useEffect(() => poll(loadJobs, EVERY_MS, { by: ["agent", "cron"], wholly: () => false }), []);
  const list = jobs.value;
  return (
    <main class="page">
      <h1>Schedule</h1>
      {!list ? (
        <p class="empty late">Loading…</p>
      ) : (
        <>
          {list.length === 0 && (
            <p class="empty">
              Nothing is scheduled yet. A job asks an agent something at set times, or runs a command.
            </p>
          )}
          <ul class="rows" aria-label="Jobs">
            {list.map((job) => (
              <Job key={job.id} job={job} />
            ))}
          </ul>
          <details class="fold">
            <summary>New job</summary>
            <JobForm />
          </details>
        </>
      )}
      <DialogHost />
    </main>
  );
}
