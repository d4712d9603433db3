/** Rules of `2-channels.md` and `contract.md` 10: who may write through a channel, and who is let in. */
export const channelsAccess = {
  "CH-ACCESS-1":
    "dmPolicy decides direct messages, groupPolicy groups: open lets everybody in, allowlist who is listed, disabled nobody; requireMention drops unmentioned group messages first; sigchat has no mention rule, cloudchat no groups",
  "CH-ACCESS-2": "lists of users and of groups are kept apart: neither opens the other",
  "CH-ACCESS-3": "lists match stable ids alone, exactly, never names",
  "CH-ACCESS-4":
    "devicechat: an entry is an international number or a JID, device suffixes do not count, any stable id of the sender may match",
  "CH-ACCESS-5":
    "codes are 6 characters of ABCDEFGHJKMNPQRSTUVWXYZ23456789 from a CSPRNG, matched case-insensitively",
  "CH-ACCESS-6":
    "a code lives an hour; expired entries are cleaned up on list, and 404 on approve and deny; at most 5 wait per channel, kind and agent (sigchat: in all), the oldest goes",
  "CH-ACCESS-7":
    "a code is told at most twice, and is the same for a repeated knock; group knocks go by the group",
  "CH-ACCESS-8":
    "by default: dmPolicy allowlist, pairing true, groupPolicy allowlist, requireMention true; an empty list means nobody",
  "CH-ACCESS-9":
    "access.json lies in .botchat-state or .guildchat-state of the workspace, mode 0600, folder 0700",
  "CH-ACCESS-10":
    "approving a dm adds the sender to allowFrom and writes approved/<senderId>; approving a group or guild adds its id to that list and writes no handshake",
  "CH-ACCESS-11": "policy open captures senders and groups into their lists (botchat, guildchat)",
  "CH-ACCESS-12": "changes that come at once lose nothing",
  "CH-ACCESS-13":
    "a change of policy or list, also by hand, counts from the next message on; unknown keys stay",
  "CH-ACCESS-14": "a broken access.json lets nobody in, and is never written over: 409",
  "CH-ACCESS-15": "the legacy dmPolicy pairing becomes allowlist with pairing true",
  "CH-ACCESS-16": "legacy per-sender restrictions of a group hold, and go with the group",
  "CH-ACCESS-17":
    "deny and dismiss take an entry away without allowing anybody; a new message can add it again",
  "CH-ACCESS-18":
    "what waits survives a restart in botchat, guildchat, devicechat and cloudchat; sigchat and teamchat keep it in memory",
  "CH-ACCESS-19": "ids can be put on a list without a knock; what is no id of the channel is 400",
  "CH-ACCESS-20":
    "denied senders of devicechat, cloudchat, sigchat and teamchat are listed with userId, displayName, kind, firstSeen, lastSeen and count, and a code only while pairing is on",
  "CH-ACCESS-21":
    "approve on these channels adds the id to dmAllowlist or groupAllowlist in config.json, applied at once; the rest stays, references to variables too",
  "CH-ACCESS-22":
    "devicechat: policies, lists and pending entries are per account, chosen by account_id; older flat settings become the account default",
  "CH-ACCESS-23": "devicechat send is for JIDs that the account's policy lets write",
  "CH-ACCESS-24": "an agent's record shows the policies and no secret",
  "CH-ACCESS-25": "GET pending, POST approve and POST deny have the documented fields for each channel",
  "CH-ACCESS-26": "PATCH policy takes any of its fields, 400 for an invalid value, a non-boolean or no field",
  "CH-ACCESS-27":
    "GET allowlist, DELETE allow/:userId and the group or guild routes; 400 for an id that is not numeric",
  "CH-ACCESS-28":
    "pending, approve, deny and dismiss exist for all six channels, enabled or not: 404 agent, 403 non-admin, 400 code missing, 404 code unknown; dismissing what is absent is ok",
} as const;
