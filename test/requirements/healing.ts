/** What happens when a running turn is stuck. */
export const healing: Readonly<Record<string, string>> = {
  "HEAL-1": "a process that is not ready within readySeconds is an incident not_ready",
  "HEAL-2":
    "a process that writes nothing for quietSeconds in mid-turn is an incident no_output; while a tool runs, after 600 s",
  "HEAL-3": "a process that is gone in mid-turn is an incident exited; without autoRecover it ends at once",
  "HEAL-4":
    "an incident is a log line, an event of the feed, a frame of the stream and a sentence in a channel's chat, when it is found and when it is over",
  "HEAL-5":
    "GET incidents lists the last 200 of an agent, newest first, with what was seen, what was done and what is allowed now",
  "HEAL-6":
    "with autoRecover the watchdog takes one action after another, each once in an incident, with cooldownSeconds between and maxPerTurn at most, then gives up",
  "HEAL-7":
    "after a restart the message is told again in the same turn, with the user row stored once, only if nothing came of the turn; else the turn ends interrupted with its text, and after an exit as AGENT_FAILED",
  "HEAL-8":
    "a person's act takes what is allowed: 404 unknown, 400 not allowed, 409 closed, under way or within the cooldown",
  "HEAL-9": "/status names the backend of each session and its open incident",
  "HEAL-10": "the evidence has at most 500 characters, and neither known secrets nor what looks like one",
  "HEAL-11":
    "settings that are too small and unknown stages are warnings, and the defaults are used; enabled: false watches nothing",
  "HEAL-12":
    "in every order of stop, end, exit, restart and actions each incident closes once, a message is never told again after something came of its turn, and nothing is left behind",
  "HEAL-13": "commands: incidents list, incidents act",
  "HEAL-15":
    "in a terminal a known question that stands for 10 s is dialog and a busy screen that stands still is busy_screen; a key is pressed, and a session falls back to headless until it is restarted",
  "HEAL-14":
    "the dashboard's page shows what is stuck with its evidence, does what is allowed, and lists what is over",
};
