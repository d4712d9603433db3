/** How agent programs are limited, watched and shown. */
export const runtimes = {
  "LIM-1": "every known ACP program is started so that it keeps to allowTools, whatever its arguments say",
  "LIM-2":
    "a known program that cannot be limited does not start with limited tools, and says why everywhere",
  "LIM-3":
    "an unknown program with limited tools starts with a warning in the log, doctor and the agent record",
  "LIM-4": "a tool that is used without permission ends its turn",
  "LOG-1": "auto passes over an agent CLI that is not logged in, and says so",
  "LOG-2": "an agent CLI that is not logged in is told as one sentence with what to do",
  "MODEL-7": "an ACP agent's own models are listed, accepted and shown; an unknown one is 400",
  "TMP-1": "what an agent program leaves in its temp folder is gone with its process",
  "RST-1":
    "the agent record and /status show the chosen runtime, its program, version, login, problem and last error",
} as const;
