import { afterEach, beforeEach, expect, test } from "vitest";
import { type DeviceRig, deviceRig, linkRig } from "../../../fixtures/device-rig.ts";
import { type FakePhone, startFakePhone } from "../../../fixtures/fake-phone/index.ts";
import { tempFolder } from "../../../fixtures/temp-home.ts";
import { until } from "../../../harness.ts";

const ALICE = "15550001111@s.whatsapp.net";

let phone: FakePhone;
let rig: DeviceRig;

beforeEach(async () => {
  phone = await startFakePhone();
});
afterEach(async () => {
  await rig[Symbol.asyncDispose]();
  await phone.close();
});

test("a message that may have arrived is sent again under its id, and is shown once [CH-UNSURE-2]", async () => {
  const folder = await tempFolder();
  rig = await linkRig(phone, { folder });
  const key = crypto.randomUUID();
  phone.failNext("drop");
  expect(await rig.send(ALICE, "one", { key })).toMatchObject({ status: "unknown" });
  await rig[Symbol.asyncDispose]();

  rig = await deviceRig({ url: phone.url, folder });
  void rig.connect();
  const content = { kind: "text", text: "one" } as const;
  const again = { target: rig.target(ALICE), content, key, uncertainAt: Date.now() };
  expect(rig.adapter.repeatable!(again)).toBe(true);
  await until(async () => (await rig.send(ALICE, "one", again)).status === "sent", "the second attempt");
  expect(await rig.send(ALICE, "two")).toMatchObject({ status: "sent" });
  expect(phone.again).toEqual([phone.sent[0]!.id]);
  expect(phone.sent.map(({ message }) => message.extendedTextMessage?.text)).toEqual(["one", "two"]);
});

test("a connection that breaks after the message was written leaves it unknown; one that was not there is retried", async () => {
  rig = await linkRig(phone);
  phone.failNext("drop");
  expect(await rig.send(ALICE, "one")).toMatchObject({ status: "unknown" });
  expect(phone.sent.map(({ message }) => message.extendedTextMessage?.text)).toEqual(["one"]);
  await until(() => rig.errors.length > 0, "the end of the connection");
  expect(await rig.send(ALICE, "two")).toEqual({
    status: "retry",
    reason: "The linked device is not connected.",
    afterMs: expect.any(Number),
  });
});

test("a message without an answer is unknown when its time is up", async () => {
  rig = await linkRig(phone);
  phone.failNext("hang");
  const controller = new AbortController();
  const sending = rig.adapter.send(
    { target: rig.target(ALICE), content: { kind: "text", text: "one" }, key: "k", begin() {} },
    controller.signal,
  );
  await until(() => phone.sent.length > 0, "the message");
  controller.abort();
  expect(await sending).toMatchObject({ status: "unknown" });
});

test("a message begins when it is about to be written, and is not written when it may not begin [CH-JOURNAL-5, CH-JOURNAL-6]", async () => {
  rig = await linkRig(phone);
  const before: number[] = [];
  expect(await rig.send(ALICE, "one", { begin: () => void before.push(phone.sent.length) })).toMatchObject({
    status: "sent",
  });
  expect(before).toEqual([0]);
  const begin = () => {
    throw new Error("the disk is full");
  };
  expect(await rig.send(ALICE, "two", { begin })).toMatchObject({ status: "retry" });
  expect(await rig.send(ALICE, "three")).toMatchObject({ status: "sent" });
  expect(phone.sent).toHaveLength(2);
});

test("an attempt that is given up before the message was written never writes it", async () => {
  rig = await linkRig(phone);
  const controller = new AbortController();
  const sending = rig.adapter.send(
    { target: rig.target(ALICE), content: { kind: "text", text: "one" }, key: "k", begin() {} },
    controller.signal,
  );
  controller.abort();
  expect(await sending).toMatchObject({ status: "retry" });
  expect(await rig.send(ALICE, "two")).toMatchObject({ status: "sent" });
  expect(phone.sent.map(({ message }) => message.extendedTextMessage?.text)).toEqual(["two"]);
});
