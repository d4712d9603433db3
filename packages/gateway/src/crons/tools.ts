import type { CronRoom } from "./room.ts";
import type { CronToolName, CronToolScope } from "./types.ts";

/** A tool that the agent can call; errors it throws are passed to the agent. */
export interface CronTool {
  name: string;
  description: string;
  /** JSON Schema of the arguments. */
  inputSchema: Record<string, unknown>;
  call(args: Record<string, unknown>): Promise<string>;
}

const text = (description: string) => ({ type: "string", description });
const schema = (properties: Record<string, unknown>, required: readonly string[] = []) => ({
  type: "object",
  properties,
  required,
  additionalProperties: false,
});
const ID = { id: text("Id of the job, from cron_list.") };
const JOB = {
  name: text("Short name of the job."),
  schedule: text("Five cron fields (minute hour day month weekday), or @daily and its kin."),
  at: text("Instead of schedule: one time, ISO 8601; without an offset, in the job's time zone."),
  every: text("Instead of schedule: an interval such as 30m, 2h or 1d; at least 5 minutes."),
  prompt: text("What you will be asked when the job runs. Say all that you will need to know."),
  timezone: text("IANA time zone of the schedule; the gateway's when left out."),
  here: { type: "boolean", description: "Whether your reply goes to the chat that you are in now (true)." },
};

/** Names, descriptions and arguments; what they do is loaded with the first call. */
const TOOLS = [
  { name: "cron_list", description: "Lists your scheduled jobs.", inputSchema: schema({}) },
  {
    name: "cron_create",
    description:
      "Schedules a job: at its times you get the prompt in a new conversation, and your reply is sent to this chat. " +
      "Answer NO_REPLY then if there is nothing to say.",
    inputSchema: schema(JOB, ["name", "prompt"]),
  },
  {
    name: "cron_update",
    description: "Changes what you name of one of your scheduled jobs.",
    inputSchema: schema(
      { ...ID, ...JOB, enabled: { type: "boolean", description: "Whether the job runs." } },
      ["id"],
    ),
  },
  {
    name: "cron_delete",
    description: "Deletes one of your scheduled jobs.",
    inputSchema: schema(ID, ["id"]),
  },
  { name: "cron_run", description: "Runs one of your scheduled jobs now.", inputSchema: schema(ID, ["id"]) },
] as const;

/** A job must not make others, or change itself without end. */
const IN_JOBS: readonly CronToolName[] = ["cron_list", "cron_delete"];

/** The tools of a session's agent. */
export function createCronTools(scope: CronToolScope, room: () => Promise<CronRoom>): CronTool[] {
  const inJob = scope.chatId.startsWith("cron-");
  return TOOLS.filter(({ name }) => !inJob || IN_JOBS.includes(name)).map((tool) => ({
    ...tool,
    async call(args) {
      const { callCronTool } = await import("./tool-calls.ts");
      return callCronTool(await room(), scope, tool.name, args);
    },
  }));
}
