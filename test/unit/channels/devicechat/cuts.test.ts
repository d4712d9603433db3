import { afterEach, beforeEach, expect, test } from "vitest";
import { type DeviceRig, deviceRig } from "../../../fixtures/device-rig.ts";
import { type FakePhone, startFakePhone } from "../../../fixtures/fake-phone/index.ts";
import { until } from "../../../harness.ts";

const PEOPLE = ["15550001111@s.whatsapp.net", "15550002222@s.whatsapp.net"];
const COUNT = 60;

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

const linked = () => until(() => rig.status().status === "linked", "the link");
const numbered = (what: string) => Array.from({ length: COUNT }, (_, n) => `${what} ${n}`);
const textOf = ({ message }: FakePhone["sent"][number]) =>
  message.conversation ?? message.extendedTextMessage?.text ?? "";

/** Reconnects as soon as the line is down, until it is told to stop. */
function keepConnected(): () => Promise<void> {
  let stopped = false;
  const run = (async () => {
    while (!stopped) await rig.connect();
  })();
  return async () => {
    stopped = true;
    await rig.disconnect();
    await run;
  };
}

/** Like delivery does: again and again under one key until the outcome is definite. */
async function deliver(to: string, text: string): Promise<string> {
  const key = crypto.randomUUID();
  for (;;) {
    const outcome = await rig.send(to, text, { key });
    if (outcome.status !== "retry") return outcome.status;
    await linked();
  }
}

test.each([1, 2, 3])(
  "the line breaks again and again, at any stanza: both sides read all, once and in order (%i)",
  async (seed) => {
    let state = seed * 7919;
    const random = (below: number) => {
      state = (state * 1103515245 + 12345) % 2 ** 31;
      return Math.floor((state / 2 ** 31) * below);
    };
    const stop = keepConnected();
    await rig.adapter.link();
    phone.scan(await until(() => rig.status().qr, "the QR code"));
    await linked();
    let over = false;
    const cutting = (async () => {
      while (!over) {
        const before = phone.connections();
        phone.cutAfter(10 + random(25), random(2) === 0);
        if (random(3) === 0) phone.failNext(random(2) === 0 ? { error: "503" } : "drop");
        await until(() => over || phone.connections() > before, "the next cut", 30_000);
      }
    })();
    const outcomes = new Map<string, string>();
    const sending = PEOPLE.map(async (to) => {
      for (const text of numbered(`to ${to}`)) outcomes.set(text, await deliver(to, text));
    });
    const writing = PEOPLE.map(async (from) => {
      for (const text of numbered(`from ${from}`)) {
        await phone.inbound(from, { conversation: text });
        await until(
          () => outcomes.size / PEOPLE.length >= Number(text.split(" ").at(-1)) - 3,
          "the other side",
          30_000,
        );
      }
    });
    await Promise.all([...sending, ...writing]);
    over = true;
    await cutting;
    const texts = () => [...new Map(rig.received.map((message) => [message.eventId, message])).values()];
    await until(() => texts().length === COUNT * PEOPLE.length, "all messages", 20_000);
    await until(() => phone.unconfirmed().length === 0, "their confirmation");
    await stop();

    expect(phone.unread).toEqual([]);
    expect(phone.stanzas.filter(({ tag, attrs }) => tag === "receipt" && attrs.type === "retry")).toEqual([]);
    for (const person of PEOPLE) {
      const from = texts().filter(({ senderId }) => senderId === person);
      expect(from.map(({ text }) => text)).toEqual(numbered(`from ${person}`));
      const got = phone.sent.filter(({ to }) => to.startsWith(person.slice(0, 11))).map(textOf);
      const certain = numbered(`to ${person}`).filter(
        (text) => outcomes.get(text) === "sent" || got.includes(text),
      );
      expect(got).toEqual(certain);
    }
    expect([...outcomes.values()].filter((status) => status === "failed")).toEqual([]);
  },
  120_000,
);
