import type { CronInput, CronJob, CronPatch } from "@agent-gateway/contract";
import * as z from "zod";
import type { CronRoom } from "./room.ts";
import { intervalOf } from "./schedule.ts";
import type { CronToolName, CronToolScope } from "./types.ts";

const job = {
  name: z.string().min(1).max(200),
  schedule: z.string().max(200).optional(),
  at: z.string().max(64).optional(),
  every: z.string().max(32).optional(),
  prompt: z.string().min(1).max(10_000),
  timezone: z.string().max(64).optional(),
  here: z.boolean().optional(),
};
const ARGUMENTS = {
  cron_list: z.strictObject({}),
  cron_create: z.strictObject(job),
  cron_update: z.strictObject({
    ...job,
    id: z.string(),
    name: job.name.optional(),
    prompt: job.prompt.optional(),
    enabled: z.boolean().optional(),
  }),
  cron_delete: z.strictObject({ id: z.string() }),
  cron_run: z.strictObject({ id: z.string() }),
} as const;

type Arguments = { [N in CronToolName]: z.output<(typeof ARGUMENTS)[N]> };

/** The arguments of a call. @throws Error with a sentence for the agent */
function read<N extends CronToolName>(name: N, args: unknown): Arguments[N] {
  const parsed = ARGUMENTS[name].safeParse(args);
  if (parsed.success) return parsed.data as Arguments[N];
  const [issue] = parsed.error.issues;
  throw new Error(`${name}: ${[issue!.path.join("."), issue!.message].filter(Boolean).join(": ")}`);
}

type Scheduling = Pick<CronPatch, "scheduleKind" | "schedule" | "scheduleAt" | "timezone">;
type Given = Partial<Arguments["cron_update"]>;

/** What the arguments say of when the job runs. */
function scheduleOf({ schedule, at, every, timezone }: Given): Scheduling {
  const given = [schedule, at, every].filter((one) => one !== undefined);
  if (given.length > 1) throw new Error("Name only one of schedule, at and every.");
  if (every !== undefined && intervalOf(every) === undefined)
    throw new Error("every must be an interval such as 30m, 2h or 1d.");
  return {
    ...(schedule !== undefined && { schedule }),
    ...(at !== undefined && { scheduleAt: at }),
    ...(every !== undefined && { schedule: every, scheduleKind: "every" as const }),
    ...(timezone !== undefined && { timezone }),
  };
}

/** A job, as its agent sees it. */
const shown = ({ id, name, schedule, scheduleAt, timezone, prompt, deliver, enabled, state }: CronJob) => ({
  id,
  name,
  ...(schedule === null ? { at: scheduleAt } : { schedule }),
  timezone,
  prompt,
  deliver,
  enabled,
  lastStatus: state.lastStatus,
  lastError: state.lastError,
  nextRunAt: state.nextRunAt === null ? null : new Date(state.nextRunAt).toISOString(),
});

/** Does what an agent asks for with one of its tools. */
export async function callCronTool(
  room: CronRoom,
  { agentId, chatId }: CronToolScope,
  name: CronToolName,
  args: Record<string, unknown>,
): Promise<string> {
  const own = async (): Promise<CronJob[]> =>
    (await room.list([agentId])).filter(({ type }) => type === "agent");
  const requireOwn = async (wanted: string): Promise<string> => {
    if ((await own()).some(({ id }) => id === wanted)) return wanted;
    throw new Error("You have no job with this id.");
  };
  const deliverTo = async (here: boolean) => (here ? room.chatTarget(agentId, chatId) : []);

  switch (name) {
    case "cron_list":
      read(name, args);
      return JSON.stringify((await own()).map(shown));
    case "cron_create": {
      const given = read(name, args);
      const input: CronInput = {
        agentId,
        name: given.name,
        prompt: given.prompt,
        ...scheduleOf(given),
        deliver: await deliverTo(given.here ?? true),
      };
      return JSON.stringify(shown(await room.create(input, "agent")));
    }
    case "cron_update": {
      const given = read(name, args);
      const id = await requireOwn(given.id);
      const patch: CronPatch = {
        ...(given.name !== undefined && { name: given.name }),
        ...(given.prompt !== undefined && { prompt: given.prompt }),
        ...(given.enabled !== undefined && { enabled: given.enabled }),
        ...scheduleOf(given),
        ...(given.here !== undefined && { deliver: await deliverTo(given.here) }),
      };
      return JSON.stringify(shown(await room.update(id, patch, { mayCommand: false, agent: true })));
    }
    case "cron_delete":
      await room.remove(await requireOwn(read(name, args).id));
      return "Deleted.";
    case "cron_run":
      await room.beginRun(await requireOwn(read(name, args).id));
      return "Started.";
    default:
      return name satisfies never;
  }
}
