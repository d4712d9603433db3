/** Rules of the Discord channel: `2-channels.md`, contract section 10. */
export const channelsGuildchat: Record<string, string> = {
  "CH-GUILDCHAT-1":
    "one login with the intents for guild and direct messages and their content; the socket's address can be set",
  "CH-GUILDCHAT-2":
    "after a cut, or when Discord asks for it, the session is taken up on another socket, never two at a time: what came meanwhile arrives, once",
  "CH-GUILDCHAT-3":
    "acknowledged heartbeats prove the connection; one without them is left, and every one ends when it is told to",
  "CH-GUILDCHAT-4":
    "when the session is gone, what was missed is fetched for each known channel, oldest first and before anything newer, and asked for again until it could be; only in a channel that could not be asked several times in a row does newer come first",
  "CH-GUILDCHAT-5":
    "the session's number moves only past what is stored; it survives restarts, and belongs to one bot",
  "CH-GUILDCHAT-6":
    "logins keep Discord's limits; a refused token, a missing intent and an unreachable gateway are told in one sentence",
  "CH-GUILDCHAT-7":
    "slash commands are registered when they changed; commands and pressed buttons become messages, acknowledged once stored",
  "CH-GUILDCHAT-8":
    "text goes as Discord's Markdown, pings nobody, quotes what it answers in guilds, and shows buttons",
  "CH-GUILDCHAT-9": "files go as files, streamed from the disk",
  "CH-GUILDCHAT-10": "typing is shown while the agent works; sent messages can be changed",
  "CH-GUILDCHAT-11":
    "an attempt is made once: 429 (header or body), known limits, 5xx and a refused connection are tried again later, a broken one is repeated with the nonce that Discord takes once, another 4xx is final",
  "CH-GUILDCHAT-12": "files are fetched from Discord's hosts alone, by a new link when the old one has ended",
  "CH-GUILDCHAT-13": "a token is judged by Discord",
  "CH-GUILDCHAT-14":
    "messages of direct channels, guild channels and threads come with stable ids as text; access of guilds is by the guild's id",
  "CH-GUILDCHAT-15":
    "a mention of the bot, of its role, or a reply to it counts as mentioned; its own mention is stripped",
  "CH-GUILDCHAT-16": "bots, webhooks and system messages are ignored; no event makes the reader fail",
  "CH-GUILDCHAT-17": "images, documents, voice messages, audio and video come as media",
  "CH-GUILDCHAT-18":
    "a knock in a direct channel is approved, confirmed there, and the next message answered; guilds by their id and a mention",
  "CH-GUILDCHAT-19": "forced disconnects and a restart lose no message and answer none twice",
};
