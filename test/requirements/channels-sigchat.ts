/** Rules of contract 10 and the channels' brief for what is sent through LINE. */
export const channelsSigchat: Record<string, string> = {
  "CH-SIG-1":
    "a reply token is used once, by the first send, while it is younger than 50 s; 429 and 5xx keep it for the next attempt; all else is pushed",
  "CH-SIG-2":
    "a reply becomes a push only when the token was surely refused: a broken connection is unknown and nothing follows",
  "CH-SIG-3":
    "a push carries the row's key as retry key, so one whose fate is unknown is repeated and taken once; it ends by itself, and waits for a provider that is down, slow or limiting",
  "CH-SIG-4": "the monthly limit, a refused token and a refused message fail with a clear sentence",
  "CH-SIG-5": "plain text, and at most 13 quick replies that say a slash command",
  "CH-SIG-6":
    "images are shown from short-lived public links, other files sent as their link; without a public https address a sentence says why not",
  "CH-SIG-7": "the loading animation shows in direct chats while the agent works",
  "CH-SIG-8":
    "senders' names come from profiles, within 1.5 s, remembered, as one harmless line of at most 64 characters",
  "CH-SIG-9": "files are streamed from the blob API; a sentence says why one cannot be had",
  "CH-SIG-10": "the provider judges a channel access token; no answer is no verdict",
  "CH-SIG-11": "knock, code by reply, approval, answer; an event that comes again is answered once",
  "CH-SIG-12": "a reply outlives a provider that is down and a crash, and is sent once, in order",
};
