/** Rules of the Telegram channel: `2-channels.md`, contract section 10. */
export const channelsBotchat: Record<string, string> = {
  "CH-BOTCHAT-1":
    "messages of private chats, groups and supergroups come with stable ids as text, the group's id negative, and the sender's name",
  "CH-BOTCHAT-2":
    "photos (largest size), documents, voice, audio and video come as media and are fetched as streams; what cannot be had says why",
  "CH-BOTCHAT-3":
    "mentions by name or id and replies to the bot count as mentioned, wherever they stand; the bot's own mention is cut",
  "CH-BOTCHAT-4": "`/command@thisbot` is that command, another bot's command is ignored",
  "CH-BOTCHAT-5":
    "channel posts, edits, service messages and other bots' messages are ignored; no update makes the reader fail",
  "CH-BOTCHAT-6": "topics are answered in the topic, groups by a reply",
  "CH-BOTCHAT-7": "buttons carry slash commands; pressing one runs it and is acknowledged",
  "CH-BOTCHAT-8":
    "the offset moves, here and at Telegram, only after the messages are stored; it survives restarts, and belongs to one bot",
  "CH-BOTCHAT-9":
    "a connection that breaks says why in one sentence without secrets, and is proven by answered polls",
  "CH-BOTCHAT-10": "a 429 of polling is obeyed",
  "CH-BOTCHAT-11": "text goes as HTML without link previews, and plain where Telegram refuses the markup",
  "CH-BOTCHAT-12": "typing is shown while the agent works; sent messages can be changed",
  "CH-BOTCHAT-13":
    "an attempt is sent, surely refused, to be tried again, or uncertain, as the answer or its absence says; nothing is repeated blindly",
  "CH-BOTCHAT-14": "a group that became a supergroup is followed",
  "CH-BOTCHAT-15":
    "images go as photos, sound as voice or audio, files as documents; what Telegram does not take as such goes as a document",
  "CH-BOTCHAT-16":
    "a webhook is taken only with the secret, compared in constant time; nothing in it makes it fail",
  "CH-BOTCHAT-17":
    "webhook mode registers the gateway's public address with the secret, one delivery at a time, and watches the deliveries",
  "CH-BOTCHAT-18": "a token is judged by the provider: good, refused, or not to be judged now",
  "CH-BOTCHAT-19":
    "works against crabline's Telegram by polling and by webhook, and against telegram-test-api",
  "CH-BOTCHAT-20":
    "a stranger's knock, the approval, its confirmation, and the first answer go through the whole gateway; a group's knock opens the group alone",
  "CH-BOTCHAT-21": "photos and documents reach the agent, its images reach the chat",
  "CH-BOTCHAT-22":
    "an update that comes three times, a killed gateway and a provider that is down neither lose nor double a message",
  "CH-BOTCHAT-24":
    "a server that knows only getUpdates and sendMessage, and leaves out what is not needed, is enough",
  "CH-BOTCHAT-23": "the model picker works by its buttons",
};
