/** A kind of id, and its name in errors. */
interface IdForm {
  pattern: RegExp;
  error: string;
}

const digits = (what: string): IdForm => ({
  pattern: /^\d{1,32}$/,
  error: `must be the number of a ${what}`,
});

/**
 * What each channel's lists may contain: stable ids as the provider writes them, never names.
 * LINE: https://developers.line.biz/en/reference/messaging-api/#source-user
 */
export const CHANNEL_IDS = {
  botchat: {
    user: digits("user"),
    group: { pattern: /^-?\d{1,32}$/, error: "must be the number of a group" },
  },
  guildchat: { user: digits("user"), group: digits("server") },
  devicechat: {
    user: {
      pattern: /^(?:\+?\d{5,20}|\d{1,30}(?::\d{1,4})?@(?:s\.whatsapp\.net|c\.us|lid))$/,
      error: "must be an international number or a user's JID",
    },
    group: { pattern: /^\d{1,30}(?:-\d{1,20})?@g\.us$/, error: "must be a full group JID (…@g.us)" },
  },
  cloudchat: { user: { pattern: /^\+?\d{5,20}$/, error: "must be an international number" }, group: null },
  sigchat: {
    user: {
      pattern: /^(?![CR][0-9a-f]{32}$)(?=U|.*\d)[\w-]{2,100}$/,
      error: "must be a user id (U…), not a name",
    },
    group: {
      pattern: /^(?!U[0-9a-f]{32}$)(?=[CR]|.*\d)[\w-]{2,100}$/,
      error: "must be a group or room id (C… or R…), not a name",
    },
  },
  teamchat: {
    user: {
      pattern: /^[UW](?=.*\d|[^a-z]+$)[\w-]{1,100}$/,
      error: "must be a user id (U… or W…), not a name",
    },
    group: {
      pattern: /^[CG](?=.*\d|[^a-z]+$)[\w-]{1,100}$/,
      error: "must be a channel id (C… or G…), not a name",
    },
  },
} as const satisfies Record<string, { user: IdForm; group: IdForm | null }>;
