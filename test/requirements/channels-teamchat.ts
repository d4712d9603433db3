/** Rules of contract 10 and the channels' brief for what is sent through Slack. */
export const channelsTeamchat: Record<string, string> = {
  "CH-TEAM-1":
    "replies are posted as mrkdwn in the thread that they answer, without previews; what Slack refuses for its form comes again as plain text",
  "CH-TEAM-2": "buttons below a text carry slash commands",
  "CH-TEAM-3": "a message takes the place of an earlier one; that may be repeated",
  "CH-TEAM-4": "a broken or unreadable answer to a post is unknown, and the post is never repeated",
  "CH-TEAM-5": "429 with Retry-After, 5xx and refused connections are tried again",
  "CH-TEAM-6": "what Slack refuses fails with a sentence that says what to do",
  "CH-TEAM-7":
    "files are streamed up and shared in the thread; all before the sharing may be repeated, the sharing not",
  "CH-TEAM-8":
    "files of messages are fetched with the token from Slack's file host or the configured one alone; a missing scope is named",
  "CH-TEAM-9": "an hourglass stands on a message while the agent works; a missing scope is told once",
  "CH-TEAM-10": "senders' names come from their profiles, remembered and harmless",
  "CH-TEAM-11": "the provider judges a bot token; no answer is no verdict",
  "CH-TEAM-12": "knock, code, approval, answer; an event that comes again is answered once",
  "CH-TEAM-13": "a reply outlives a provider that is down and a crash, and is sent once, in order",
};
