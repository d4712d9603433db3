/** Rules of `contract-store.md` 2: the one scheduler and its durable jobs. */
export const jobs: Readonly<Record<string, string>> = {
  "JOBS-1":
    "a job is unique by kind and key, and is claimed on disk before it runs: by its state, its fence and the store's clock; a second claim while it runs is refused",
  "JOBS-2":
    "the end of a run is stored in the unit that holds its effect; a run that has lost its claim changes nothing",
  "JOBS-3":
    "after a crash or a failure a kind of at least once runs again, and one of at most once never; its job is closed as interrupted or failed, or waits for its next time",
  "JOBS-4":
    "each run ends: by itself, or after its time limit; a stop aborts it and stores what becomes of it",
  "JOBS-5": "a clock that is set on or back loses no job and runs none in a storm",
  "JOBS-6":
    "a failing job pauses longer each time, with some chance in it, and shows in the log once per change",
  "JOBS-7":
    "while no job is due, nothing is read or written, and one timer waits; runs beyond a kind's concurrency wait",
  "JOBS-8":
    "jobs of an agent are run by the agent's owner alone, those of a node by that node; a claim of another process is taken over when its lease is over by the taker's own timer",
  "JOBS-9":
    "housekeeping is done by jobs, whose times survive restarts: old channel messages, expired shares, each agent's history at its hour",
  "JOBS-10": "metrics count the runs of each kind by outcome, and how late they began",
};
