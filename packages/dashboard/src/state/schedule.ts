import type { CronJob, CronRun } from "@agent-gateway/contract";
import { signal } from "@preact/signals";
import { client } from "../api/client.ts";

/** Scheduled jobs of all agents, those that run next first; undefined until they have been read. */
export const jobs = signal<readonly CronJob[] | undefined>(undefined);

const nextOf = ({ enabled, state }: CronJob) =>
  enabled ? (state.nextRunAt ?? Number.MAX_SAFE_INTEGER) : Number.POSITIVE_INFINITY;

export async function loadJobs(abort?: AbortSignal): Promise<void> {
  const reply = await client.call("listCrons", { query: {}, signal: abort });
  const byNext = (a: CronJob, b: CronJob) =>
    nextOf(a) === nextOf(b) ? a.name.localeCompare(b.name) : nextOf(a) - nextOf(b);
  jobs.value = reply.jobs.toSorted(byNext);
}

export async function loadRuns(id: string, abort: AbortSignal): Promise<readonly CronRun[]> {
  return (await client.call("listCronRuns", { params: { id }, query: {}, signal: abort })).runs;
}

type Fields = Readonly<Record<string, unknown>>;

/** Makes a job, or changes the one with this id. */
export async function saveJob(id: string | undefined, fields: Fields): Promise<void> {
  // The page has no validator: the gateway judges what was typed.
  const body = fields as never;
  if (id === undefined) await client.call("createCron", { body });
  else await client.call("updateCron", { params: { id }, body });
  await loadJobs();
}

/** Starts a run now, and does not wait for its end. */
export async function runJob(id: string): Promise<void> {
  await client.call("runCron", { params: { id }, query: { wait: "false" } });
  await loadJobs();
}

export async function deleteJob(id: string): Promise<void> {
  await client.call("deleteCron", { params: { id } });
  await loadJobs();
}
