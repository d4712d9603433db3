/** The steps of a channel message between which a crash must lose nothing and repeat nothing. */
export type ChannelStep =
  | "before-inbox-row"
  | "after-inbox-row"
  | "before-sending-row"
  | "after-sending-row"
  | "after-request-noted"
  | "after-provider-answer"
  | "after-answer-noted"
  | "after-outcome-row";
