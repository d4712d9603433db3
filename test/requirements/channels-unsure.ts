/** What is done about a reply that may or may not have arrived. */
export const channelsUnsure: Record<string, string> = {
  "CH-UNSURE-1":
    "A reply whose outcome is unknown is counted by itself: in the channel's state, `/status` and `/metrics`.",
  "CH-UNSURE-2":
    "Where the provider makes sure that a message arrives once (LINE's retry key and reply token, Discord's nonce, the id of a linked device's message, a change of a text), an uncertain send is repeated by itself.",
  "CH-UNSURE-3": "Everything else that is uncertain is never repeated by itself.",
  "CH-UNSURE-4":
    "`GET …/channels/deliveries` lists what is unknown or failed, the newest first, with its text, but no pairing code.",
  "CH-UNSURE-5":
    "`POST …/deliveries/:id/send-again` sends it once more: 404 for an unknown number, 409 for one that arrived or was sent again.",
  "CH-UNSURE-6":
    "An attempt that may have arrived stays `unknown` when a later one is refused or comes too late.",
  "CH-UNSURE-7":
    "Kills at every step leave at most one reply in a hundred uncertain, and each of them is listed for the owner.",
  "CH-JOURNAL-1":
    "What was being sent when the gateway was killed goes out if its request had not begun, which the journal of sends tells.",
  "CH-JOURNAL-2":
    "After another boot, of older rows, and when the journal cannot be read, nothing counts as surely not sent.",
  "CH-JOURNAL-3": "An answer that only the journal holds settles its row at the next start.",
  "CH-JOURNAL-4": "The journal is bounded, and loses nothing that is under way when it begins anew.",
  "CH-JOURNAL-5": "No request goes out that could not be recorded, on any channel; it is tried again.",
  "CH-JOURNAL-6":
    "Each channel records a send at its last step: not before files are read or uploaded, and over HTTP where the channel cannot repeat a send, not before the connection is open.",
};
