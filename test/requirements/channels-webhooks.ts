/** The public webhook ingress, and what it makes of the deliveries of `sigchat` and `teamchat`. */
export const channelsWebhooks: Readonly<Record<string, string>> = {
  "CH-HOOK-1":
    "GET and POST /webhooks/:app and /webhooks/:app/:agentId need no API key; an unknown app is 404 with an error that names it.",
  "CH-HOOK-2":
    "A webhook's 200 {ok: true} comes once the event is on disk, and survives kill -9; when storing fails the provider is asked again (503).",
  "CH-HOOK-3":
    "Without an agent id the first agent with the channel's secret set is used; an id that is unknown, or whose agent has the channel not or turned off, is 404.",
  "CH-HOOK-4": "A channel with no secret configured is 404, never open; a changed secret counts at once.",
  "CH-HOOK-5":
    "A missing, wrong or repeated signature is 401; signatures compare the decoded bytes, and the providers' own verifiers agree.",
  "CH-HOOK-6": "Hex signatures are taken in either case.",
  "CH-HOOK-7": "The real services' header names are taken beside the documented ones.",
  "CH-HOOK-8": "A timestamp of teamchat that is no whole number, or more than 5 minutes from now, is 401.",
  "CH-HOOK-9": "A signed body of unexpected shape is 200 and ignored, never 500.",
  "CH-HOOK-10":
    "Webhooks are reached under the public URL's host and the allowed ones; a foreign Host is 403.",
  "CH-HOOK-11":
    "The raw body is taken before any parsing, at most 256 KB before authentication (413), not compressed (415), and in time (408).",
  "CH-HOOK-12": "None of 10,000 mutated bodies and headers is accepted, and nothing of them is stored.",
  "CH-HOOK-13": "An event that comes again, also by replay inside the window, is handled once.",
  "CH-HOOK-14": "A webhook channel is connected once a valid call proved it.",
  "CH-HOOK-15": "Signed events of crabline's Slack with its retry after a 500 get one answer.",
  "CH-SIGIN-1": "sigchat: GET, or an empty POST, is answered unconditionally with {ok: true}.",
  "CH-SIGIN-2": "sigchat: text, image and file messages come with their ids, time and reply token.",
  "CH-SIGIN-3": "sigchat: groups and rooms are chats of their own, with no mention rule.",
  "CH-SIGIN-4": "sigchat: sticker, video, location and audio, other events and standby are ignored.",
  "CH-SIGIN-5": "sigchat: a redelivery keeps its event id.",
  "CH-TEAMIN-1": "teamchat: url_verification is answered with its challenge, after the signature.",
  "CH-TEAMIN-2": "teamchat: a signed body that is not valid JSON is 400.",
  "CH-TEAMIN-3": "teamchat: a direct message is taken with its sender's user id.",
  "CH-TEAMIN-4":
    "teamchat: a mention in a channel is taken without the bot's own mention, and answered in a thread.",
  "CH-TEAMIN-5": "teamchat: a message of a thread is answered there.",
  "CH-TEAMIN-6": "teamchat: in channels only mentions count unless requireMention is false.",
  "CH-TEAMIN-7": "teamchat: a message that comes as a message and as a mention is taken once.",
  "CH-TEAMIN-8": "teamchat: messages of bots, its own, edits, deletions and joins are ignored.",
  "CH-TEAMIN-9": "teamchat: shared files come with their address, name, type and size.",
  "CH-TEAMIN-10": "teamchat: entities, mentions, channels and links read as people read them.",
  "CH-TEAMIN-11": "teamchat: buttons and registered slash commands carry commands, signed alike.",
};
