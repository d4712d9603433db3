import type { ChannelAdapter, JsonObject } from "../types.ts";

/** Where the link between an account and its phone stands. */
export interface DeviceStatus {
  status: "unlinked" | "pending_scan" | "linked" | "reconnecting";
  /** The phone ended the link; until the next link request. */
  loggedOut: boolean;
  /** Image data URL, while a scan is awaited. */
  qr?: string;
  /** 8 characters to type on the phone, while one was asked for instead of a QR code. */
  pairingCode?: string;
  /** International, with `+`; once linked. */
  phoneNumber?: string;
}

/** One account of the linked-device channel. */
export interface DeviceAdapter extends ChannelAdapter {
  /** Live, never from the configuration. */
  status(): DeviceStatus;
  /**
   * Begins to link: `pending_scan` at once, the QR code follows. Nothing happens when it is linked already.
   * @throws {GatewayError} `INTERNAL` when linking cannot start.
   */
  link(): Promise<void>;
  /**
   * Begins to link with a code instead of a QR code; resolves to the code.
   * @param phone International number; everything but its digits is ignored.
   * @throws {GatewayError} `CONFLICT` when it is already linked, `INTERNAL` when no code is available.
   */
  requestPairingCode(phone: string): Promise<string>;
  /** Logs out at the provider, best effort, and wipes the credentials. */
  unlink(): Promise<void>;
  /** Takes the processing reaction off a message, when it has one. */
  settle(messageId: string): void;
  /** Other JIDs of the same user that the library knows, without asking anyone. */
  aliases(jid: string): Promise<string[]>;
  /** What `Target.reply` holds to quote a message; its sender and text only while it is fresh. */
  quote(messageId: string): JsonObject;
}
