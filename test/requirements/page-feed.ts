/** What the page hears of without asking. */
export const pageFeed = {
  "FOLLOW-1":
    "the page's lists of sessions, chats and agents, and the channels of an agent, follow the feed: what another client does is seen at once",
  "FOLLOW-2":
    "a feed that breaks off goes on after the last event that was heard; without it, and while the gateway refuses it, the page asks by itself",
  "FOLLOW-3": "only a page that is looked at holds a connection for the feed",
} as const;
