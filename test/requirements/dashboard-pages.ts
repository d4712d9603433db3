/** The dashboard's navigation and pages. */
export const dashboardPages = {
  "DASH-NAV-1":
    "every page is a link of one navigation: a column beside the page where there is room, else a drawer that takes the keyboard, closes with Escape and gives the keyboard back; the keyboard can pass the links",
  "DASH-NAV-2":
    "a page that has been renamed is found at its old address, and an unknown address leads to the first page",
  "DASH-NAV-3": "a page's module is loaded by the first look at it, and a page that cannot be loaded says so",
  "DASH-OVER-1":
    "the first page tells what runs, what waits for a person, and what happened in the last 24 hours, from figures that the gateway has; where there are none it says so",
  "DASH-OVER-2": "a fresh gateway offers the next three steps, each of which is marked once it is done",
  "DASH-AGENT-1":
    "agents are created, changed and deleted on the page, with their greeting, and the sessions of all are listed",
  "DASH-EVENT-1":
    "the latest events are listed, new ones appear by themselves, and they can be narrowed to a topic or an agent",
  "DASH-SYS-1": "the messages of an agent are exported to a file and imported from one on the page",
  "DASH-CHAT-1":
    "in a chat, the agent greets, a file of the session becomes a public link, and a reply tells what it used",
  "DASH-CHAT-2": "a message is put into the conversation of a channel, and the answer is shown",
  "DASH-SCHEDULE-1":
    "scheduled jobs are created, changed, run, disabled and deleted on the page, and their runs are shown with their output",
  "DASH-TRACE-1": "what became of a channel's message is told step by step",
  "AGENT-RUN-1":
    "an admin key changes what runs an agent; what is not named stays, unless type or provider change, and keys of providers are stored apart and never shown",
  "AGENT-GREET-1":
    "the greeting file is read and replaced over the API, below 64 KiB and never through a link; an empty text removes it",
  "MON-ACT-1":
    "/status?include=activity tells messages, replies, turns, their duration and the memory of the last 24 hours by steps of five minutes, counted since the start",
  "DASH-AXE-1":
    "axe finds nothing serious on any page, on wide and narrow screens, light and dark, and no page has an error in the console",
};
