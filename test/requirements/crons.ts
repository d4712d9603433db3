/** Scheduled jobs. */
export const crons = {
  "CRON-1":
    "a job is shown with every field; its schedule tells its kind, a time without an offset is in the job's time zone, and the gateway's time zone is the default",
  "CRON-2":
    "an agent's job is a turn in the chat `cron-<jobId>`, told in an escaped element, in a new session each time unless it is to go on with the last",
  "CRON-3": "a job fires once when its time has come, and a one-time job never again",
  "CRON-4":
    "a pattern is read from the wall clock of its time zone: a time that a change of the clock leaves out counts at the change, one that is shown twice counts once; over ten years and in every zone",
  "CRON-5":
    "a tick is one row, unique by job and time, written together with the next time; while the last run goes on, it is skipped",
  "CRON-6":
    "a run that waits begins its turn or its command once, whatever crash comes between; what a crash cut off ends as a channel's message would, and a command is interrupted and never begun again",
  "CRON-7": "runs are listed newest first, a hundred of each job are kept, and they count in the job's state",
  "CRON-8":
    "a command runs like an agent's program, is ended with all that it started at its time limit, and leaves its output and exit code",
  "CRON-9":
    "the reply of an agent's job goes to every chat that it names, in the unit that ends the turn, and only to chats that the channel's rules let in",
  "CRON-10": "jobs of an agent that is deleted are disabled",
  "CRON-12":
    "what was missed while the gateway was down is made up for by one run, unless the job says otherwise",
  "CRON-13":
    "a clock that is set forward fires each job once; one that is set back repeats nothing, and leaves no job waiting for a time that was wrong",
  "CRON-14":
    "an unknown job is 404, one out of reach 403 and left out of lists; commands need an admin key; an unknown field is 400; a job that runs is 409",
  "CRON-11":
    "an agent has tools to list, make, change, delete and run agent jobs of its own, at least five minutes apart and fifty at most; in the session of a job it can only list and delete",
};
