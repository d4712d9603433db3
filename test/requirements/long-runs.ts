/** Programs that run for long, whose output nobody holds in memory. */
export const longRuns = {
  "RUN-1":
    "a long-running program's whole output goes into its log in order, and readers follow it live, from any byte, each at its own pace",
  "RUN-2": "the newest maxLogBytes of the output are kept; a reader that is behind sees the gap",
  "RUN-3":
    "output of any size takes bounded memory: a program that writes faster than the disk waits, and one whose disk takes nothing goes on and leaves no empty files",
  "RUN-4": "its exit code or signal is told after the last of its output",
  "RUN-5":
    "it is stopped with its whole group, by force if need be, and after a kill of the gateway by the next start",
} as const;
