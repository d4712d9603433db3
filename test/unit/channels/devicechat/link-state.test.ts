import { expect, test } from "vitest";
import { endingOf } from "../../../../packages/gateway/src/channels/devicechat/disconnect.ts";
import {
  createLinkState,
  LINK_WINDOW_MS,
} from "../../../../packages/gateway/src/channels/devicechat/link-state.ts";
import { manualClock } from "../../../fixtures/manual-clock.ts";

const ME = "15550009999:3@s.whatsapp.net";

test("the way from unlinked to linked and back, and what the status shows on it [CH-DEVICE-1]", () => {
  const clock = manualClock();
  const state = createLinkState(clock, undefined);
  const seen: string[] = [];
  state.onChange(() => seen.push(state.status().status));
  expect(state.status()).toEqual({ status: "unlinked", loggedOut: false });
  state.showQr("data:early");
  expect(state.status()).toEqual({ status: "unlinked", loggedOut: false });
  state.request({ by: "qr" });
  expect(state.status()).toEqual({ status: "pending_scan", loggedOut: false });
  state.showQr("data:1");
  state.showQr("data:2");
  expect(state.status()).toEqual({ status: "pending_scan", loggedOut: false, qr: "data:2" });
  state.scanned();
  expect(state.status()).toEqual({ status: "reconnecting", loggedOut: false });
  state.linked(ME);
  expect(state.status()).toEqual({ status: "linked", loggedOut: false, phoneNumber: "+15550009999" });
  state.lost();
  expect(state.status()).toEqual({ status: "reconnecting", loggedOut: false });
  state.linked(ME);
  clock.advance(LINK_WINDOW_MS * 2);
  expect(state.status().status).toBe("linked");
  state.unlinked({ loggedOut: true });
  expect(state.status()).toEqual({ status: "unlinked", loggedOut: true });
  state.request({ by: "code", phone: "15550009999" });
  expect(state.status()).toEqual({ status: "pending_scan", loggedOut: false });
  state.showQr("data:3");
  state.showCode("ABCD1234");
  expect(state.status()).toEqual({ status: "pending_scan", loggedOut: false, pairingCode: "ABCD1234" });
  expect(seen[0]).toBe("pending_scan");
});

test("a request ends by itself; asking again begins the time anew and keeps the QR code", () => {
  const clock = manualClock();
  const state = createLinkState(clock, undefined);
  state.request({ by: "qr" });
  const { method } = state;
  state.showQr("data:1");
  clock.advance(LINK_WINDOW_MS - 1);
  state.request({ by: "qr" });
  expect(state.method).toBe(method);
  expect(state.status().qr).toBe("data:1");
  clock.advance(LINK_WINDOW_MS - 1);
  expect(state.status().status).toBe("pending_scan");
  clock.advance(1);
  expect(state.status()).toEqual({ status: "unlinked", loggedOut: false });
  expect(state.method).toBeUndefined();
});

test("an account with credentials begins as reconnecting; losing what was never there changes nothing", () => {
  const state = createLinkState(manualClock(), ME);
  expect(state.status().status).toBe("reconnecting");
  const other = createLinkState(manualClock(), undefined);
  other.lost();
  expect(other.status().status).toBe("unlinked");
});

test.each([
  [{ output: { statusCode: 515 } }, { kind: "restart" }],
  [{ output: { statusCode: 401 } }, { kind: "logged-out" }],
  [{ output: { statusCode: 408 }, message: "QR refs attempts ended" }, { kind: "qr-spent" }],
  [{ output: { statusCode: 408 } }, { kind: "broken", reason: "The connection to WhatsApp was lost." }],
  [{ output: { statusCode: 999 } }, { kind: "broken", reason: "The connection to WhatsApp broke." }],
  [
    { message: "WebSocket Error (connect ECONNREFUSED 10.0.0.1)" },
    { kind: "broken", reason: "WhatsApp cannot be reached." },
  ],
  [undefined, { kind: "broken", reason: "The connection to WhatsApp broke." }],
])("the end %o means %o", (error, ending) => {
  expect(endingOf(error)).toEqual(ending);
});
