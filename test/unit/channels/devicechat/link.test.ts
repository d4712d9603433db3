import { readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type DeviceRig, deviceRig } from "../../../fixtures/device-rig.ts";
import { type FakePhone, startFakePhone } from "../../../fixtures/fake-phone/index.ts";
import { manualClock } from "../../../fixtures/manual-clock.ts";
import { until } from "../../../harness.ts";

const UNLINKED = { status: "unlinked", loggedOut: false };
const LINKED = { status: "linked", loggedOut: false, phoneNumber: "+15550009999" };

let phone: FakePhone;
let rig: DeviceRig;
beforeEach(async () => {
  phone = await startFakePhone();
  rig = await deviceRig({ url: phone.url });
});
afterEach(async () => {
  await rig[Symbol.asyncDispose]();
  await phone.close();
});
const status = () => rig.status();
const linked = () => until(() => status().status === "linked", "the link");

async function link(): Promise<void> {
  void rig.connect();
  await rig.adapter.link();
  const qr = await until(() => status().qr, "the QR code");
  phone.scan(qr);
  await linked();
}

test("an account that is not linked rests without a connection until a link is asked for", async () => {
  void rig.connect();
  await until(rig.resting, "the rest");
  expect(status()).toEqual(UNLINKED);
  expect(phone.connections()).toBe(0);
});

test("pending_scan begins with the link request, the QR follows as an image data URL, and a scan links [CH-DEVICE-1] [CH-DEVICE-2]", async () => {
  void rig.connect();
  await rig.adapter.link();
  expect(status()).toEqual({ status: "pending_scan", loggedOut: false });
  const qr = await until(() => status().qr, "the QR code");
  expect(qr).toMatch(/^data:image\/svg\+xml;base64,/);
  expect(status()).toEqual({ status: "pending_scan", loggedOut: false, qr });
  expect(rig.lives()).toBe(0);
  phone.scan(qr);
  await linked();
  // Neither QR nor pairing code stays, and the number is there only now.
  expect(status()).toEqual(LINKED);
  expect(rig.errors).toEqual([]);
  expect(rig.lives()).toBeGreaterThan(0);
});

test("a pairing code that is typed on the phone links instead of a QR code [CH-DEVICE-3]", async () => {
  void rig.connect();
  const code = await rig.adapter.requestPairingCode("+1 (555) 000-9999");
  expect(code).toMatch(/^[0-9A-Z]{8}$/);
  expect(status()).toEqual({ status: "pending_scan", loggedOut: false, pairingCode: code });
  await until(phone.asksForCode, "the device to ask for the code");
  await phone.typeCode(code);
  await linked();
  expect(status()).toEqual(LINKED);
});

test("asking for a code while a QR code waits shows the code instead, and the other way round", async () => {
  void rig.connect();
  await rig.adapter.link();
  await until(() => status().qr, "the QR code");
  const code = await rig.adapter.requestPairingCode("15550009999");
  expect(status()).toEqual({ status: "pending_scan", loggedOut: false, pairingCode: code });
  await rig.adapter.link();
  await until(() => status().qr, "the QR code");
  expect(status().pairingCode).toBeUndefined();
});

test("linked credentials persist across restarts, readable by the owner alone [CH-DEVICE-4]", async () => {
  await link();
  await rig.disconnect();
  expect(status()).toEqual({ status: "reconnecting", loggedOut: false });
  expect((await stat(rig.stateDir)).mode & 0o777).toBe(0o700);
  for (const name of await readdir(rig.stateDir)) {
    expect((await stat(join(rig.stateDir, name))).mode & 0o077).toBe(0);
  }
  await using next = await deviceRig({ url: phone.url, folder: rig.folder });
  expect(next.status()).toEqual({ status: "reconnecting", loggedOut: false });
  void next.connect();
  await until(() => next.status().status === "linked", "the connection");
  expect(next.status()).toEqual(LINKED);
});

test("unlink logs out, wipes the session and asks for a fresh scan; other files of the folder stay [CH-DEVICE-5]", async () => {
  await link();
  await writeFile(join(rig.stateDir, "pending.json"), "{}");
  await rig.adapter.unlink();
  expect(status()).toEqual(UNLINKED);
  expect(await readdir(rig.stateDir)).toEqual(["pending.json"]);
  const removal = phone.stanzas.find(
    ({ content }) => Array.isArray(content) && content[0]?.tag === "remove-companion-device",
  );
  expect(removal).toBeDefined();
  await until(rig.resting, "the rest");
  expect(phone.open()).toBe(0);
  await rig.adapter.link();
  const qr = await until(() => status().qr, "the QR code");
  phone.scan(qr);
  await linked();
});

test("unlink gives up a link that is asked for", async () => {
  void rig.connect();
  await rig.adapter.link();
  await until(() => status().qr, "the QR code");
  await rig.adapter.unlink();
  expect(status()).toEqual(UNLINKED);
  await until(rig.resting, "the rest");
});

test("a device that the phone removes is logged out: wiped, unlinked, and says so [CH-DEVICE-6]", async () => {
  await link();
  phone.logOut();
  await until(() => rig.errors.length > 0, "the end of the connection");
  expect(status()).toEqual({ status: "unlinked", loggedOut: true });
  expect(rig.errors).toEqual(["The phone removed the link; link the account again."]);
  expect(await readdir(rig.stateDir).catch(() => [])).toEqual([]);
  // The next link request begins anew.
  phone.mode.refuse = undefined;
  void rig.connect();
  await rig.adapter.link();
  expect(status()).toEqual({ status: "pending_scan", loggedOut: false });
});

test("a login that is refused for good is a logout too", async () => {
  await link();
  await rig.disconnect();
  phone.mode.refuse = "401";
  await rig.connect();
  expect(status()).toEqual({ status: "unlinked", loggedOut: true });
});

test("without a scan the account is unlinked again after three minutes, with a reason", async () => {
  const clock = manualClock();
  await using own = await deviceRig({ url: phone.url, clock });
  void own.connect();
  await own.adapter.link();
  await until(() => own.status().qr, "the QR code");
  clock.advance(179_000);
  expect(own.status().status).toBe("pending_scan");
  clock.advance(1_000);
  expect(own.status()).toEqual(UNLINKED);
  await until(() => {
    clock.advance(1_000);
    return own.errors.length > 0;
  }, "the end of the attempt");
  expect(own.errors).toEqual(["No phone scanned the QR code in time."]);
});

test("a provider that says nothing is given up after twenty seconds", async () => {
  const clock = manualClock();
  phone.mode.silent = true;
  await using own = await deviceRig({ url: phone.url, clock });
  void own.connect();
  await own.adapter.link();
  await until(() => phone.connections() > 0, "the connection");
  clock.advance(20_000);
  await until(() => {
    clock.advance(1_000);
    return own.errors.length > 0;
  }, "the end of the attempt");
  expect(own.errors).toEqual(["WhatsApp did not answer in time."]);
  // The request stands: the next connection goes on with it.
  expect(own.status().status).toBe("pending_scan");
});

test.each([
  [
    { code: "440" },
    "conflict",
    "Another program uses this linked device; stop it, or unlink the account and link it again.",
  ],
  [{ code: "503" }, undefined, "WhatsApp is currently unavailable."],
])(
  "a connection that the provider ends with %o says why and reconnects [CH-DEVICE-7]",
  async (attrs, child, sentence) => {
    await link();
    phone.endWith(attrs, child);
    await until(() => rig.errors.length > 0, "the end of the connection");
    expect(rig.errors).toEqual([sentence]);
    expect(status().status).toBe("reconnecting");
    expect(phone.open()).toBe(0);
    void rig.connect();
    await linked();
    expect(phone.open()).toBe(1);
  },
);

test("a provider that cannot be reached is a clear sentence", async () => {
  await link();
  await rig.disconnect();
  await phone.close();
  await rig.connect();
  expect(rig.errors).toEqual(["WhatsApp cannot be reached."]);
  expect(status()).toEqual({ status: "reconnecting", loggedOut: false });
  phone = await startFakePhone();
});
