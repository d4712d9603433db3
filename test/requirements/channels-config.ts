/** Rules of `2-channels.md` and `contract.md` 6, 7, 10, 12: configuration, health and operation of channels. */
export const channelsConfig: Record<string, string> = {
  "CH-CONFIG-1":
    "tokens in the agent update go to the agent's .env, the configuration keeps ${VAR} (the name it had), no answer shows them",
  "CH-CONFIG-2": "a changed token or policy applies without a restart",
  "CH-CONFIG-3": "null clears a field, a secret also from the .env",
  "CH-CONFIG-4":
    "a token that a variable of the gateway's environment would override is 409 with a clear sentence",
  "CH-CONFIG-5": "when the configuration cannot be changed, the .env is as it was",
  "CH-CONFIG-6": "teamchat_bot_token and teamchat_signing_secret go together, 400 otherwise",
  "CH-CONFIG-7":
    "a token that its provider refuses is 400, a provider that does not answer 502; nothing is saved",
  "CH-CONFIG-8":
    "policies open, allowlist, disabled; the older pairing means allowlist with pairing true; lists hold stable ids and are replaced whole",
  "CH-CONFIG-9": "devicechat_* policy fields are for devicechat_account_id, else the first account",
  "CH-CONFIG-10": "cloudchat has no fields in the agent update",
  "CH-CONFIG-11": "where a bot's token is sent to is an admin's to say: 403 for a write key",
  "CH-CONFIG-12":
    "a secret that is empty is none, and leaves its channel off instead of the agent; ids may be written as numbers",
  "CH-HEALTH-1":
    "GET channels: channel, enabled, connected, lastInboundAt, lastOutboundAt, lastError, queued, for any key of the agent",
  "CH-HEALTH-2": "connected is what the connection last proved, with the last error beside it",
  "CH-HEALTH-3": "/status has the channels of each agent",
  "CH-HEALTH-4":
    "/metrics: connected, queue, messages received and denied, deliveries by state, reconnects, by agent, channel and account",
  "CH-HEALTH-5":
    "a message's trace: received, stored, turn, reply, delivery with times, by any of its ids, without what it said",
  "CH-HEALTH-6": "POST channels/allow puts stable ids on the lists of any channel, admins alone",
  "CH-CLI-1": "channels approve, deny, allow and the rest take the channel as an argument",
  "CH-CLI-2": "channels list, pending, policy and trace, and trace with any agent, for people and as JSON",
  "CH-CLI-3": "devicechat link shows the QR code in the terminal and waits for the scan",
  "CH-DASH-1": "the channels page shows live state, last error and queue of each channel",
  "CH-DASH-2": "who waits is approved or denied with one click",
  "CH-DASH-3": "policies are changed on the page",
  "CH-DASH-4": "an account of devicechat is linked by QR or code on the page, and unlinked after a question",
  "CH-DASH-5": "the page works at phone width, by keyboard, in light and dark, under the strict policy",
};
