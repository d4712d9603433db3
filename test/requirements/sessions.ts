/** What sessions, their turns and the process of the gateway keep to under load, at a stop and after a failure. */
export const sessions = {
  "HOLD-1": "a spare process serves one session: its id is taken once, whatever asks for it at the same time",
  "HOLD-2": "a spare process that dies is replaced unnoticed; the session that took its id works",
  "HOLD-3": "a greeting goes to one session, however many ask for it at the same time; the others get 204",
  "HOLD-4": "stop during a compaction ends it at once and asks the agent for nothing more",
  "HOLD-5": "a deleted session leaves no folder",
  "HOLD-6": "while a session is cleared, compacted, restarted or deleted no turn begins in it",
  "TURN-30":
    "whatever the order of events, a turn ends once, leaves no row, timer or process, and takes nothing that comes late",
  "CAP-1": "a turn of more than 32 MiB of text is AGENT_FAILED, keeps that much, and disturbs nobody",
  "ACT-1": "a channel's agent is allowed a tool only when it is on disk that it has begun",
  "WRITE-1": "what the writer took before its close is on disk or rejected; what comes after is refused",
  "WRITE-2": "a close of the writer ends, whatever its thread does; every unit is settled once",
  "WRITE-3": "units are written in the order in which they were handed over; a faulty one costs no other one",
  "STOP-1":
    "SIGTERM ends the gateway with code 0 within 5 s, whatever is blocked; no agent is left, what was said is kept",
  "STOP-2": "an exception that nothing catches is logged and ends the gateway with 70 through the shutdown",
  "WATCH-1": "a loop blocked for 5 s is logged with its stack, and told when it runs again",
  "WATCH-2": "a loop blocked for gateway.watchdog.exitSeconds ends the process with 70; 0 never does",
};
