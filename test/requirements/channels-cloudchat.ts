/** The `cloudchat` channel: the WhatsApp Cloud API. */
export const channelsCloudchat: Readonly<Record<string, string>> = {
  "CH-CLOUD-1":
    "GET with hub.mode=subscribe, the verify token and a challenge is 200 text/plain with the challenge, else 403.",
  "CH-CLOUD-2": "A signed POST that is no JSON is 400, an unsigned one 401.",
  "CH-CLOUD-3":
    "Text, image, document, audio and video messages are taken; reactions, stickers and the rest ignored.",
  "CH-CLOUD-4": "Pressed buttons and rows carry their command; a quoted message is named.",
  "CH-CLOUD-5": "All entries, changes and messages of a delivery are taken, those of another number are not.",
  "CH-CLOUD-6": "Statuses are taken: a message that could not be delivered is shown as failed.",
  "CH-CLOUD-7":
    "Texts go out by the Graph API with the number's token, at the configured address, in WhatsApp's markup.",
  "CH-CLOUD-8": "A message that quoted is answered by quoting it.",
  "CH-CLOUD-9": "Up to three buttons, or ten rows of a list, are shown; pressing one runs its command.",
  "CH-CLOUD-10": "Images go out as images, files as files, uploaded from disk.",
  "CH-CLOUD-11":
    "Limits and 5xx are tried again, refusals are not, and what is uncertain is never sent again; no attempt outlasts 60 s.",
  "CH-CLOUD-12":
    "After 24 hours the configured template is sent where templatesEnabled is set, else the refusal is told plainly.",
  "CH-CLOUD-13": "Read receipts, typing and the reaction while the agent works obey their settings.",
  "CH-CLOUD-14":
    "Files are fetched with the token from the provider's hosts alone, at most 20 MB; one that cannot be had is told to the agent.",
  "CH-CLOUD-15": "Each message is answered once and in order, also over a restart with the provider away.",
  "CH-CLOUD-16": "An unknown number gets a pairing code; approval lets it in; no secret is ever shown.",
  "CH-CLOUD-18":
    "A send whose outcome is uncertain is settled by the status that WhatsApp reports for it, and never repeated.",
  "CH-CLOUD-17": "Deliveries of crabline's WhatsApp are answered over its Graph routes.",
};
