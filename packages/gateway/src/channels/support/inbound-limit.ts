/** Size limit of a message's file. */
export const MAX_INBOUND_BYTES = 20 * 1024 * 1024;
