import type { Clock } from "../../lib/clock.ts";
import { numberOf } from "./jid.ts";
import type { DeviceStatus } from "./types.ts";

/** How long a phone has to scan the QR code or take the pairing code. */
export const LINK_WINDOW_MS = 3 * 60_000;

/** How the account is being linked. */
export type LinkMethod = { by: "qr" } | { by: "code"; phone: string };

/** Which state the link is in, and who waits for it to change. */
export interface LinkState {
  status(): DeviceStatus;
  /** Set from the request until the link is there or given up. */
  readonly method: LinkMethod | undefined;
  /** A request to link: `pending_scan` from now on. Asking again restarts the time limit. */
  request(method: LinkMethod): void;
  showQr(dataUrl: string): void;
  showCode(code: string): void;
  /** The phone took the QR code or the pairing code; the connection of the linked account follows. */
  scanned(): void;
  linked(jid: string): void;
  /** The connection of a linked account is gone. */
  lost(): void;
  unlinked(options?: { loggedOut: boolean }): void;
  /** Called with each change, until the result is called. */
  onChange(listener: () => void): () => void;
}

export function createLinkState(clock: Clock, linkedAs: string | undefined): LinkState {
  let status: DeviceStatus["status"] = linkedAs === undefined ? "unlinked" : "reconnecting";
  let loggedOut = false;
  let method: LinkMethod | undefined;
  let shown: { qr?: string; pairingCode?: string } = {};
  let number: string | undefined;
  let stopWaiting = () => {};
  const listeners = new Set<() => void>();

  const tell = () => {
    for (const listener of [...listeners]) listener();
  };
  const become = (next: DeviceStatus["status"]) => {
    status = next;
    if (next !== "pending_scan") {
      stopWaiting();
      method = undefined;
      shown = {};
    }
    tell();
  };

  return {
    status: () => ({
      status,
      loggedOut,
      ...(status === "pending_scan" && shown),
      ...(status === "linked" && number !== undefined && { phoneNumber: number }),
    }),
    get method() {
      return method;
    },
    request(next) {
      stopWaiting();
      stopWaiting = clock.after(LINK_WINDOW_MS, () => become("unlinked"));
      const same = method?.by === "qr" && next.by === "qr";
      loggedOut = false;
      if (!same) {
        method = next;
        shown = {};
      }
      become("pending_scan");
    },
    showQr(qr) {
      if (method?.by !== "qr") return;
      shown = { qr };
      tell();
    },
    showCode(pairingCode) {
      if (method?.by !== "code") return;
      shown = { pairingCode };
      tell();
    },
    scanned: () => become("reconnecting"),
    linked(jid) {
      number = numberOf(jid);
      loggedOut = false;
      become("linked");
    },
    lost() {
      if (status === "linked") become("reconnecting");
    },
    unlinked(options) {
      loggedOut = options?.loggedOut ?? false;
      become("unlinked");
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
