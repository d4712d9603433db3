import { join } from "node:path";
import { startWhatsAppServer } from "@openclaw/crabline";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  cloudDelivery,
  cloudText,
  graphError,
  startFakeCloudchat,
  statusOf,
} from "./fixtures/fake-cloudchat.ts";
import { SECRETS, SIGNED_CHANNELS, signedHeaders } from "./fixtures/webhook-signing.ts";
import { type Gateway, startGateway, until } from "./harness.ts";

const NUMBER = SIGNED_CHANNELS.cloudchat.phoneNumberId;
const FROM = "491701234567";
const CHAT = `/api/v1/agents/assistant/chats/cloudchat-${FROM}/messages`;
let fake: Awaited<ReturnType<typeof startFakeCloudchat>>;
const gateways: Gateway[] = [];

beforeEach(async () => {
  fake = await startFakeCloudchat();
});
afterEach(async () => {
  for (const gateway of gateways.splice(0)) await gateway[Symbol.asyncDispose]();
  await fake[Symbol.asyncDispose]();
});

async function start(settings: Record<string, unknown> = {}, home?: string) {
  const cloudchat = { ...SIGNED_CHANNELS.cloudchat, apiBaseUrl: fake.url, dmAllowlist: [FROM], ...settings };
  const gateway = await startGateway({ agent: { cloudchat }, ...(home !== undefined && { home }) });
  gateways.push(gateway);
  return gateway;
}
async function deliver(gateway: Gateway, payload: unknown, times = 1) {
  const body = JSON.stringify(payload);
  for (let i = 0; i < times; i++) {
    const answer = await gateway.request("POST", "/webhooks/cloudchat/assistant", {
      key: null,
      raw: body,
      headers: signedHeaders("cloudchat", body),
    });
    expect(await answer.json()).toEqual({ ok: true });
  }
}
const say = (gateway: Gateway, text: string, id?: string) =>
  deliver(gateway, cloudDelivery(NUMBER, [cloudText(text, id === undefined ? {} : { id })]));
const history = async (gateway: Gateway) =>
  ((await gateway.json("GET", CHAT)).body.messages as { content: string }[])
    .map(({ content }) => content)
    .toReversed();

const trace = async (gateway: Gateway, id: string) =>
  JSON.stringify((await gateway.json("GET", `/api/v1/agents/assistant/channels/trace/${id}`)).body);

describe("a chat over cloudchat", () => {
  it("whose answer was lost shows it as unknown until WhatsApp reports it [CH-CLOUD-18]", async () => {
    const gateway = await start({ sendReadReceipts: false, reactionLevel: "off" });
    const deliveries = async () =>
      (await gateway.json("GET", "/api/v1/agents/assistant/channels/deliveries")).body.deliveries as object[];
    fake.fail("/messages", { kind: "drop", taken: true });
    await say(gateway, "SAY one");
    await until(async () => (await deliveries()).length > 0, "the delivery");
    expect(await deliveries()).toMatchObject([{ state: "unknown", text: "one" }]);
    await deliver(gateway, cloudDelivery(NUMBER, [], [statusOf(fake.taken[0]!, "delivered")]));
    expect(await deliveries()).toEqual([]);
    await say(gateway, "SAY two");
    await until(() => fake.taken.length > 1, "the next answer");
    expect(fake.texts()).toEqual(["one", "two"]);
  });

  it("is answered once, in order, and shows that the agent works [CH-CLOUD-15]", async () => {
    const gateway = await start();
    await deliver(
      gateway,
      cloudDelivery(NUMBER, [
        cloudText("SAY one", { id: "wamid.1" }),
        cloudText("SAY **two**", { id: "wamid.2" }),
      ]),
      3,
    );
    await say(gateway, "SAY three");
    await until(() => fake.taken.length >= 3, "the answers");
    expect(fake.texts()).toEqual(["one", "*two*", "three"]);
    expect(await history(gateway)).toEqual([
      "SAY one",
      "one",
      "SAY **two**",
      "**two**",
      "SAY three",
      "three",
    ]);
    await until(
      () => fake.courtesies.filter(({ type }) => type === "reaction").length >= 6,
      "reactions to come and go",
    );
    expect(
      fake.courtesies.filter(({ status }) => status === "read").map(({ message_id }) => message_id),
    ).toContain("wamid.1");
    const state = async () => {
      const { body } = await gateway.json("GET", "/api/v1/agents/assistant/channels");
      return (body.channels as { channel: string; queued: number }[]).find(
        ({ channel }) => channel === "cloudchat",
      );
    };
    await until(async () => (await state())?.queued === 0, "the last outcome on disk");
    expect(await state()).toMatchObject({
      enabled: true,
      connected: true,
      lastInboundAt: expect.any(Number),
      lastOutboundAt: expect.any(Number),
      lastError: null,
    });
  });

  it("gives an unknown number a pairing code and nothing else [CH-CLOUD-16]", async () => {
    const gateway = await start({ dmAllowlist: [] });
    await say(gateway, "SAY let me in");
    await until(() => fake.taken.length === 1, "the code");
    const { body } = await gateway.json("GET", "/api/v1/agents/assistant/cloudchat/pending");
    const [sender] = body.senders as { userId: string; displayName: string; kind: string; code: string }[];
    expect(sender).toMatchObject({ userId: FROM, displayName: "Ada", kind: "user" });
    expect(fake.texts()[0]).toContain(sender?.code);
    expect(fake.courtesies).toEqual([]);
    const approve = await gateway.json("POST", "/api/v1/agents/assistant/cloudchat/approve", {
      body: { code: sender?.code },
    });
    expect(approve).toMatchObject({ status: 200, body: { ok: true, senderId: FROM } });
    await say(gateway, "SAY welcome");
    await until(() => fake.texts().includes("welcome"), "the answer");
  });

  it("runs the command of a row that was pressed [CH-CLOUD-9]", async () => {
    const gateway = await start();
    await say(gateway, "/session");
    await until(() => fake.taken.length === 1, "the answer");
    const reply = { type: "list_reply", list_reply: { id: "/clear", title: "Clear" } };
    const pressed = {
      from: FROM,
      id: "wamid.b",
      timestamp: "1700000000",
      type: "interactive",
      interactive: reply,
    };
    await deliver(gateway, cloudDelivery(NUMBER, [pressed]));
    await until(() => fake.taken.length === 2, "the answer of the command");
    expect((await gateway.json("GET", CHAT)).body.messages ?? []).toEqual([]);
  });

  it("brings images to the agent, and says why one is missing [CH-CLOUD-14]", async () => {
    const gateway = await start();
    const png = Buffer.from(
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==",
      "base64",
    );
    fake.files.set("901", { bytes: png, mime: "image/png" });
    const image = (id: string) => ({
      from: FROM,
      id: `wamid.i${id}`,
      timestamp: "1700000000",
      type: "image",
      image: { id, mime_type: "image/png", caption: "what is this?" },
    });
    await deliver(gateway, cloudDelivery(NUMBER, [image("901")]));
    await until(() => fake.taken.length === 1, "the answer");
    expect(fake.texts()[0]).toContain("img=1");
    await deliver(gateway, cloudDelivery(NUMBER, [image("902")]));
    await until(() => fake.taken.length === 2, "the answer without the image");
    expect(fake.texts()[1]).toContain("unavailable");
  });

  it("is tried again after a limit, and never after an uncertain send [CH-CLOUD-11]", async () => {
    const gateway = await start({ reactionLevel: "off", sendReadReceipts: false });
    fake.fail("/messages", graphError(400, 130429), 1);
    await say(gateway, "SAY after the limit");
    await until(() => fake.taken.length === 1, "the second attempt");
    fake.fail("/messages", { kind: "drop", taken: true });
    await say(gateway, "SAY uncertain");
    await until(() => fake.taken.length === 2, "the attempt");
    await say(gateway, "SAY afterwards");
    await until(() => fake.taken.length === 3, "the next answer");
    expect(fake.texts()).toEqual(["after the limit", "uncertain", "afterwards"]);
  });

  it("continues after a restart during which the provider was down [CH-CLOUD-15]", async () => {
    const gateway = await start();
    await fake.down();
    await say(gateway, "SAY patience", "wamid.p");
    // Between two attempts: what a crash finds in the middle of one is uncertain, and not sent again.
    await until(
      async () => /"state":"pending","attempts":[1-9]/.test(await trace(gateway, "wamid.p")),
      "a pause",
    );
    await gateway.kill();
    await fake.up();
    const again = await start({}, gateway.home);
    await until(() => fake.texts().includes("patience"), "the answer", 20_000);
    await say(again, "SAY patience", "wamid.p");
    await say(again, "SAY done");
    await until(() => fake.texts().includes("done"), "the next answer");
    expect(fake.texts()).toEqual(["patience", "done"]);
  });

  it("remembers that the provider could not deliver an answer [CH-CLOUD-6]", async () => {
    const gateway = await start();
    await say(gateway, "SAY lost", "wamid.l");
    await until(() => fake.taken.length === 1, "the answer");
    const id = fake.taken[0]?.id as string;
    const failed = { id, status: "failed", errors: [{ code: 131026, title: "Message undeliverable" }] };
    await until(async () => (await trace(gateway, "wamid.l")).includes('"state":"sent"'), "the send on disk");
    await deliver(gateway, cloudDelivery(NUMBER, [], [failed]));
    await until(async () => (await trace(gateway, "wamid.l")).includes("undeliverable"), "the failure");
  });
});

describe("crabline's WhatsApp Cloud API", () => {
  it("is answered over its Graph routes by its own deliveries, signed [CH-CLOUD-17]", async () => {
    const events: { path: string; body: Record<string, unknown>; accepted?: boolean }[] = [];
    const { manifest, close } = await startWhatsAppServer({
      accessToken: "graph-token",
      phoneNumberId: NUMBER,
      recorderPath: join((await start()).home, "crabline-whatsapp.jsonl"),
      onEvent: (event) => void events.push(event as (typeof events)[number]),
    });
    try {
      const gateway = await start({ apiBaseUrl: manifest.endpoints.apiRoot, dmAllowlist: ["15551234567"] });
      const inbound = await fetch(manifest.endpoints.adminInboundUrl, {
        method: "POST",
        headers: { "content-type": "application/json", "x-crabline-admin-token": manifest.adminToken },
        body: JSON.stringify({
          chatJid: "15551234567@s.whatsapp.net",
          senderJid: "15551234567@s.whatsapp.net",
          text: "SAY hello crab",
        }),
      });
      const { webhook } = (await inbound.json()) as { webhook: unknown };
      await deliver(gateway, webhook, 2);
      const sent = () =>
        events.filter(({ path, body }) => path.endsWith("/messages") && body.type === "text");
      await until(() => sent().length > 0, "the answer");
      expect(sent()).toMatchObject([
        { accepted: true, body: { to: "15551234567", text: { body: "hello crab" } } },
      ]);
      await until(
        () => events.some(({ body, accepted }) => body.status === "read" && accepted),
        "the receipt",
      );
    } finally {
      await close();
    }
  });
});

it("cloudchat has no secret that any answer shows [CH-CLOUD-16]", async () => {
  const gateway = await start();
  const { body } = await gateway.json("GET", "/api/v1/agents");
  for (const secret of [SECRETS.cloudchat, "graph-token", "the-verify-token"]) {
    expect(JSON.stringify(body)).not.toContain(secret);
  }
});
