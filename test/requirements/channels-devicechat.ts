/** Rules of the linked-device channel: document 2 and section 10 of the contract. */
export const channelsDevicechat: Readonly<Record<string, string>> = {
  "CH-DEVICE-1":
    "`pending_scan` begins with the link request; the QR code follows in the status, asynchronously, as an image data URL present only while `pending_scan` with QR linking.",
  "CH-DEVICE-2":
    "A scan that the phone approves links; the status then carries `phoneNumber`, and only then.",
  "CH-DEVICE-3":
    "A requested pairing code appears in the status instead of a QR code and links when it is typed in.",
  "CH-DEVICE-4":
    "Linked credentials are stored in the workspace at `.devicechat-state/` and persist across restarts; they are sensitive.",
  "CH-DEVICE-5": "Unlinking logs out and wipes the session; a fresh scan or code is required.",
  "CH-DEVICE-6": "A logout by the phone sets `loggedOut`.",
  "CH-DEVICE-7": "A linked account whose connection is gone is `reconnecting` and reconnects by itself.",
  "CH-DEVICE-8": "Linking does not import old chat history.",
  "CH-DEVICE-9": "Group messages carry the full group JID and whether the number was mentioned.",
  "CH-DEVICE-10":
    "`reactionLevel: ack` adds a processing acknowledgement cleared when a reply arrives; `off` suppresses both.",
  "CH-DEVICE-11": "Read receipts default on after approval; `sendReadReceipts: false` turns them off.",
  "CH-DEVICE-12": "An absent or empty account array resolves to the implicit `default` account, unlinked.",
  "CH-DEVICE-13": "Older flat configuration is migrated to the array of accounts.",
  "CH-DEVICE-14":
    "`GET status` answers `account_id`, `status`, `loggedOut` of the first account when none is named; 400 for an account that is not configured; 403 without write access; 404 for an unknown agent.",
  "CH-DEVICE-15": "`POST link` answers `{ok, account_id}` at once.",
  "CH-DEVICE-16":
    "`POST pairing-code` answers `{pairingCode, account_id}`; 400 for a missing, empty or wrong number.",
  "CH-DEVICE-17": "`POST unlink` answers `{ok, account_id}`.",
  "CH-DEVICE-18":
    "`GET accounts` lists the accounts with their live state; the agent's record has the same list.",
  "CH-DEVICE-19":
    "`POST accounts` answers 201 with an empty, unlinked slot whose `pairing` is true; `default` stays in the list.",
  "CH-DEVICE-20":
    "An account id is 1-32 of a-z 0-9 - _, starts with a letter or digit; `default` can never be created (400).",
  "CH-DEVICE-21": "Creating an id that exists is 409; a label that is neither string nor null is 400.",
  "CH-DEVICE-22": "Deleting the only account is 409; an unknown account is 404.",
  "CH-DEVICE-23":
    "Deleting an account logs out, wipes its session directory `.devicechat-state/<accountId>/`, tears the manager down and drops it from the configuration.",
  "CH-DEVICE-24":
    "`POST send`: 400 without jid, with neither text nor image_path, or with an account_id that is no string; `{ok: true}` when it was sent.",
  "CH-DEVICE-25": "`POST send` is 403 unless the account's policy allows the jid.",
  "CH-DEVICE-TOOL-1":
    "agents with the channel have the tool `devicechat_reply`, with the fields and rules of the send route",
  "CH-DEVICE-26": "`POST send` is 502 when the send failed.",
  "CH-DEVICE-27":
    "`POST send` without account_id takes the last-inbound account of the chat, then `default`, then the only account.",
  "CH-DEVICE-28": "`image_path` is an absolute path within what the agent may share.",
  "CH-DEVICE-29":
    "Status, link, pairing-code, unlink, send and account routes need a write-scoped key for the agent.",
  "CH-DEVICE-30": "An allowed message is answered over the account that it came in on.",
};
