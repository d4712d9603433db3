import type { CronJob } from "@agent-gateway/contract";
import { useSignal } from "@preact/signals";
import { Choice } from "../../components/Choice.tsx";
import { SaveForm, typed } from "../../components/SaveForm.tsx";
import { agentName, agents } from "../../state/place.ts";
import { saveJob } from "../../state/schedule.ts";

const KINDS = [
  ["cron", "At set times"],
  ["every", "Again and again"],
  ["at", "Once"],
] as const;
const TYPES = [
  ["agent", "Ask the agent something"],
  ["command", "Run a command"],
] as const;
const TIMES = {
  cron: ["Five fields: minute, hour, day, month, day of the week; or @daily", "0 9 * * 1-5"],
  every: ["Interval, such as 30m, 2h or 1d", "2h"],
  at: ["Date and time", "2030-01-31T09:00"],
} as const;
type Kind = keyof typeof TIMES;

/** A new job, or the fields of one that exists. */
export function JobForm({ job }: { job?: CronJob }) {
  const kind = useSignal<Kind>(job?.scheduleKind ?? "cron");
  const type = useSignal<string>(job?.type ?? "agent");
  const agent = useSignal(job?.agentId ?? agents.value?.[0]?.id ?? "");
  const command = Array.isArray(job?.command) ? job.command.join(" ") : (job?.command ?? "");
  const save = async (fields: FormData, form: HTMLFormElement) => {
    const time = typed(fields, "time");
    const zone = typed(fields, "timezone");
    const task = typed(fields, "task");
    await saveJob(job?.id, {
      ...(!job && { agentId: agent.value }),
      name: typed(fields, "name"),
      scheduleKind: kind.value,
      ...(kind.value === "at" ? { scheduleAt: time } : { schedule: time }),
      ...(zone && { timezone: zone }),
      // A command with arguments of its own stays as it is stored until another is written.
      ...(task !== command && (type.value === "agent" ? { prompt: task } : { command: task })),
      freshSession: fields.has("fresh"),
      catchUp: fields.has("catchUp"),
    });
    if (!job) form.reset();
  };
  const [hint, example] = TIMES[kind.value];
  const time =
    kind.value !== job?.scheduleKind ? "" : ((kind.value === "at" ? job.scheduleAt : job.schedule) ?? "");
  return (
    <div class="job-part">
      <SaveForm title={job ? `Edit ${job.name}` : "New job"} action={job ? "Save" : "Create"} onSave={save}>
        <label class="field">
          <span>Name</span>
          <input
            class="input"
            name="name"
            maxLength={200}
            defaultValue={job?.name ?? ""}
            autocomplete="off"
          />
        </label>
        {!job && (
          <Choice
            label="Agent"
            value={agent.value}
            options={(agents.value ?? []).map(({ id }) => [id, agentName(id)] as const)}
            onChoose={(id) => {
              agent.value = id;
            }}
          />
        )}
        <Choice
          label="When"
          value={kind.value}
          options={KINDS}
          onChoose={(value) => {
            kind.value = value as Kind;
          }}
        />
        <label class="field">
          <span>{hint}</span>
          <input
            key={kind.value}
            class="input"
            name="time"
            maxLength={200}
            defaultValue={time}
            placeholder={`for example: ${example}`}
            autocomplete="off"
            spellcheck={false}
          />
        </label>
        <label class="field">
          <span>Time zone; empty for the gateway's</span>
          <input
            class="input"
            name="timezone"
            maxLength={64}
            defaultValue={job?.timezone ?? ""}
            placeholder="for example: Europe/Berlin"
            autocomplete="off"
          />
        </label>
        {!job && (
          <Choice
            label="What it does"
            value={type.value}
            options={TYPES}
            onChoose={(value) => {
              type.value = value;
            }}
          />
        )}
        <label class="field">
          <span>
            {type.value === "agent"
              ? "What the agent is asked"
              : "Line for the shell, run by the gateway's user"}
          </span>
          <textarea
            class="input"
            name="task"
            defaultValue={type.value === "agent" ? (job?.prompt ?? "") : command}
          />
        </label>
        <label class="check">
          <input type="checkbox" name="fresh" defaultChecked={job?.freshSession ?? false} />
          <span>Begin a new session each time</span>
        </label>
        <label class="check">
          <input type="checkbox" name="catchUp" defaultChecked={job?.catchUp ?? false} />
          <span>Make up, once, for runs that were missed while the gateway was off</span>
        </label>
      </SaveForm>
    </div>
  );
}
