import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text as readText } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createAdapter } from "../../../../packages/gateway/src/channels/cloudchat/index.ts";
import type {
  ChannelAdapter,
  Content,
  Outgoing,
  Target,
} from "../../../../packages/gateway/src/channels/types.ts";
import { silentLogger } from "../../../../packages/gateway/src/lib/logger.ts";
import { graphError, startFakeCloudchat } from "../../../fixtures/fake-cloudchat.ts";
import { manualClock } from "../../../fixtures/manual-clock.ts";
import { SIGNED_CHANNELS } from "../../../fixtures/webhook-signing.ts";
import { until } from "../../../harness.ts";
import { agentWith } from "../webhooks/agents.ts";

const TO = "491701234567";
const HOUR = 3_600_000;
let fake: Awaited<ReturnType<typeof startFakeCloudchat>>;
let clock: ReturnType<typeof manualClock>;
let folder: string;
const adapters: ChannelAdapter[] = [];

beforeEach(async () => {
  fake = await startFakeCloudchat();
  clock = manualClock();
  folder = await mkdtemp(join(tmpdir(), "cloudchat-"));
});
afterEach(async () => {
  const ticking = setInterval(() => clock.advance(1_000), 5);
  await Promise.all(adapters.splice(0).map((adapter) => adapter.close()));
  clearInterval(ticking);
  await fake[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

async function adapterWith(settings: Record<string, unknown> = {}) {
  const cloudchat = { ...SIGNED_CHANNELS.cloudchat, apiBaseUrl: fake.url, ...settings };
  const adapter = await createAdapter({
    place: { agentId: "assistant", channel: "cloudchat", account: "" },
    agent: agentWith({ cloudchat }),
    stateDir: folder,
    tempDir: tmpdir(),
    publicUrl: undefined,
    commands: [],
    clock,
    log: silentLogger,
  });
  adapters.push(adapter);
  return adapter;
}

const target = (more: Partial<Target> = {}): Target => ({
  chatId: TO,
  reply: {},
  messageId: "wamid.in",
  receivedAt: clock.now(),
  ...more,
});
const outgoing = (content: Content, more: Partial<Target> = {}): Outgoing => ({
  target: target(more),
  content,
  key: "6f1f6b0e-9a3b-4c53-9d0f-2b7a2f6f3c11",
  begin: () => {},
});
const said = (text: string, more: Partial<Extract<Content, { kind: "text" }>> = {}): Content => ({
  kind: "text",
  text,
  ...more,
});
const live = new AbortController().signal;
const send = async (content: Content, settings: Record<string, unknown> = {}, more: Partial<Target> = {}) =>
  (await adapterWith(settings)).send(outgoing(content, more), live);

describe("a text to cloudchat", () => {
  it("goes out with the number's token, in the provider's markup [CH-CLOUD-7]", async () => {
    expect(await send(said("**bold** text"))).toEqual({ status: "sent", messageId: fake.taken[0]?.id });
    expect(fake.taken).toMatchObject([{ to: TO, type: "text", body: { text: { body: "*bold* text" } } }]);
    expect(fake.requests[0]?.path).toBe("/v23.0/100200300/messages");
    await send(said("**bold** text", { plain: true }));
    expect(fake.texts()[1]).toBe("bold text");
  });

  it("keeps the version of an address that names one [CH-CLOUD-7]", async () => {
    await send(said("a"), { apiBaseUrl: `${fake.url}/graph/v25.0/` });
    expect(fake.requests[0]?.path).toBe("/graph/v25.0/100200300/messages");
  });

  it("quotes the message that it answers where that one quoted too [CH-CLOUD-8]", async () => {
    await send(said("a"), {}, { reply: { quoted: "wamid.0" } });
    await send(said("b"));
    expect(fake.taken.map(({ body }) => body.context)).toEqual([{ message_id: "wamid.in" }, undefined]);
  });

  it("shows up to three buttons, and up to ten rows of a list [CH-CLOUD-9]", async () => {
    const buttons = (count: number) =>
      Array.from({ length: count }, (_, i) => ({
        label: `A model with a long name ${i}`,
        command: `/model m${i}`,
      }));
    await send(said("Choose", { buttons: buttons(3) }));
    await send(said("Choose", { buttons: buttons(12) }));
    await send(said("x".repeat(1025), { buttons: buttons(2) }));
    const [few, many, long] = fake.taken.map(({ body }) => body);
    expect(few?.interactive).toMatchObject({
      type: "button",
      body: { text: "Choose" },
      action: { buttons: [{ reply: { id: "/model m0", title: "A model with a long " } }, {}, {}] },
    });
    const list = many?.interactive as { action: { sections: [{ rows: { title: string }[] }] } };
    expect(list.action.sections[0].rows).toHaveLength(10);
    expect(list.action.sections[0].rows[0]?.title).toHaveLength(24);
    expect(long?.type).toBe("text");
  });
});

describe("a file to cloudchat", () => {
  const file = async (name: string, mime: string, more: object = {}, bytes = "\x89PNG bytes") => {
    const path = join(folder, name);
    await writeFile(path, bytes, "latin1");
    return { kind: "file" as const, path, mime, name, ...more };
  };

  it("is uploaded and shown as what it is [CH-CLOUD-10]", async () => {
    expect(await send(await file("a.png", "image/png", { caption: "look" }))).toMatchObject({
      status: "sent",
    });
    await send(await file("b.pdf", "application/pdf"));
    await send(await file("c.png", "image/png", { asDocument: true }));
    await send(await file("d.ogg", "audio/ogg"));
    await send(await file("e.webp", "image/webp"));
    const ids = [...fake.files.keys()];
    expect(fake.files.get(ids[0] as string)?.bytes.toString("latin1")).toBe("\x89PNG bytes");
    expect(fake.taken.map(({ body }) => [body.type, body[body.type as string]])).toEqual([
      ["image", { id: ids[0], caption: "look" }],
      ["document", { id: ids[1], filename: "b.pdf" }],
      ["document", { id: ids[2], filename: "c.png" }],
      ["audio", { id: ids[3] }],
      ["document", { id: ids[4], filename: "e.webp" }],
    ]);
  });

  it("too large to be shown goes out as a document [CH-CLOUD-10]", async () => {
    await send(await file("a.png", "image/png", {}, "x".repeat(5 * 1024 * 1024 + 1)));
    expect(fake.taken[0]?.type).toBe("document");
  });

  it("may be tried again when its upload ended uncertain: nobody has seen it [CH-CLOUD-11]", async () => {
    for (const kind of ["drop", "cut"] as const) {
      fake.fail("/media", { kind, taken: true });
      expect(await send(await file("a.png", "image/png"))).toMatchObject({ status: "retry" });
    }
    fake.fail("/messages", { kind: "drop", taken: true });
    expect(await send(await file("a.png", "image/png"))).toMatchObject({ status: "unknown" });
    fake.fail("/media", graphError(400, 131053, "unsupported file"));
    expect(await send(await file("a.png", "image/png"))).toMatchObject({ status: "failed" });
  });

  it("that is gone is failed [CH-CLOUD-11]", async () => {
    const gone = { kind: "file" as const, path: join(folder, "gone"), mime: "image/png", name: "gone" };
    expect(await send(gone)).toMatchObject({ status: "failed" });
  });
});

describe("an attempt at cloudchat", () => {
  it("carries the key that each status returns [CH-CLOUD-18]", async () => {
    const { key } = outgoing(said("a"));
    const path = join(folder, "a.txt");
    await writeFile(path, "hello");
    await send(said("a"));
    await send({ kind: "file", path, mime: "text/plain", name: "a.txt" });
    expect(fake.taken.map(({ body }) => body.biz_opaque_callback_data)).toEqual([key, key]);
  });

  it.each([
    ["a rate limit", 400, 130429, "retry"],
    ["the account's limit", 400, 80007, "retry"],
    ["the app's limit", 403, 4, "retry"],
    ["too many to one user", 400, 131056, "retry"],
    ["a busy provider", 500, 131000, "retry"],
    ["a broken provider", 502, 0xbad, "retry"],
    ["a bad token", 401, 190, "failed"],
    ["no permission", 403, 10, "failed"],
    ["a wrong field", 400, 100, "failed"],
    ["an unknown number", 400, 131030, "failed"],
  ])("after %s (%i, %i) is %s [CH-CLOUD-11]", async (_, status, code, outcome) => {
    fake.fail("/messages", graphError(status, code, "why"));
    const got = await send(said("a"));
    expect(got).toMatchObject({ status: outcome, reason: expect.any(String) });
    expect(JSON.stringify(got)).not.toContain("graph-token");
  });

  it("obeys Retry-After, and needs no JSON in a refusal [CH-CLOUD-11]", async () => {
    fake.fail("/messages", { kind: "status", status: 429, body: "<html>", headers: { "retry-after": "7" } });
    expect(await send(said("a"))).toEqual({
      status: "retry",
      reason: "WhatsApp answered 429.",
      afterMs: 7_000,
    });
  });

  it("is uncertain once the request was written, and repeated when it surely was not [CH-CLOUD-11]", async () => {
    for (const kind of ["drop", "cut"] as const) {
      for (const taken of [true, false]) {
        fake.fail("/messages", { kind, taken });
        expect(await send(said("a"))).toMatchObject({ status: "unknown" });
      }
    }
    await fake.down();
    expect(await send(said("a"))).toMatchObject({ status: "retry" });
    await fake.up();
  });

  it("ends by itself, and with the gateway [CH-CLOUD-11]", async () => {
    fake.fail("/messages", { kind: "hang", taken: true }, 2);
    const adapter = await adapterWith();
    const slow = adapter.send(outgoing(said("a")), live);
    await until(() => fake.to("/messages").length === 1, "the request");
    clock.advance(60_000);
    expect(await slow).toMatchObject({ status: "unknown" });
    const stop = new AbortController();
    const stopped = adapter.send(outgoing(said("a")), stop.signal);
    await until(() => fake.to("/messages").length === 2, "the request");
    stop.abort();
    expect(await stopped).toMatchObject({ status: "unknown" });
  });

  it("is made once: nothing is sent again behind the outbox's back [CH-CLOUD-11]", async () => {
    fake.fail("/messages", { kind: "status", status: 503 }, 10);
    await send(said("a"));
    expect(fake.to("/messages")).toHaveLength(1);
  });
});

describe("a closed window of cloudchat", () => {
  const templates = { templatesEnabled: true, templateName: "note", templateLanguage: "de" };

  it("makes a template of the text [CH-CLOUD-12]", async () => {
    fake.closed.add(TO);
    const text = `# Answer\n\nwith     spaces\tand\n\n- lines ${"x".repeat(2000)}`;
    expect(await send(said(text), templates)).toMatchObject({ status: "sent" });
    const template = fake.taken[0]?.body.template as {
      components: { parameters: { text: string }[] }[];
    };
    expect(template).toMatchObject({ name: "note", language: { code: "de" } });
    const value = template.components[0]?.parameters[0]?.text;
    expect(value).toMatch(/^Answer with spaces and/);
    expect(value).toHaveLength(1024);
  });

  it("is known after 24 hours without asking [CH-CLOUD-12]", async () => {
    await send(said("late"), templates, { receivedAt: clock.now() - 24 * HOUR - 1 });
    await send(said("in time"), templates, { receivedAt: clock.now() - 24 * HOUR });
    expect(fake.taken.map(({ type }) => type)).toEqual(["template", "text"]);
  });

  it("is told plainly where no template is set up [CH-CLOUD-12]", async () => {
    fake.closed.add(TO);
    for (const settings of [{}, { templatesEnabled: true }, { ...templates, templatesEnabled: false }]) {
      expect(await send(said("a"), settings)).toMatchObject({
        status: "failed",
        reason: expect.stringContaining("24 hours"),
      });
    }
  });
});

describe("courtesies of cloudchat", () => {
  const quiet = { sendReadReceipts: false, reactionLevel: "off" };
  const kinds = () =>
    fake.courtesies.map(
      (body) =>
        (body.reaction as { emoji: string } | undefined)?.emoji ??
        `read${body.typing_indicator ? "+typing" : ""}`,
    );

  it("mark a message as read, and react while the agent works [CH-CLOUD-13]", async () => {
    const adapter = await adapterWith();
    adapter.markRead?.(target());
    const done = adapter.working?.(target());
    await until(() => fake.courtesies.length === 3, "receipts and reaction");
    clock.advance(20_000);
    await until(() => fake.courtesies.length === 4, "typing again");
    done?.();
    await until(() => fake.courtesies.length === 5, "the reaction to go");
    clock.advance(60_000);
    expect(kinds().sort()).toEqual(["", "read", "read+typing", "read+typing", "⏳"]);
    expect(fake.courtesies.at(-1)).toMatchObject({ to: TO, reaction: { message_id: "wamid.in", emoji: "" } });
  });

  it("are left out where they are turned off [CH-CLOUD-13]", async () => {
    const adapter = await adapterWith(quiet);
    adapter.markRead?.(target());
    adapter.working?.(target())();
    await adapter.send(outgoing(said("a")), live);
    expect(fake.courtesies).toEqual([]);
  });

  it("never hold anything up [CH-CLOUD-13]", async () => {
    fake.fail("/messages", { kind: "hang", taken: false }, 10);
    const adapter = await adapterWith();
    adapter.working?.(target())();
    adapter.markRead?.(target({ messageId: undefined as never }));
    const closing = adapter.close();
    const ticking = setInterval(() => clock.advance(1_000), 5);
    await closing;
    clearInterval(ticking);
  });
});

describe("a file from cloudchat", () => {
  const open = async (id: string, settings: Record<string, unknown> = {}) =>
    (await adapterWith(settings)).fetchMedia!({ kind: "image", ref: { id } }, live);

  it("is looked up and fetched with the token [CH-CLOUD-14]", async () => {
    fake.files.set("55", { bytes: Buffer.from("the bytes"), mime: "image/png" });
    expect(await readText(await open("55"))).toBe("the bytes");
  });

  it.each([
    ["a foreign host", { url: "https://evil.example.org/x" }],
    ["a look-alike", { url: "https://notfacebook.com.example/x" }],
    ["plain http", { url: "http://lookaside.fbsbx.com/x" }],
    ["no address", { url: "nonsense" }],
    ["more than 20 MB", { size: 20 * 1024 * 1024 + 1 }],
  ])("is refused with %s, and the token stays here [CH-CLOUD-14]", async (_, more) => {
    fake.files.set("55", { bytes: Buffer.from("x"), mime: "image/png", ...more });
    await expect(open("55")).rejects.toThrow();
    expect(fake.requests).toHaveLength(1);
  });

  it("that is not there says so [CH-CLOUD-14]", async () => {
    await expect(open("77")).rejects.toThrow("WhatsApp did not hand it out (404)");
    await fake.down();
    await expect(open("77")).rejects.toThrow("WhatsApp could not be reached");
    await fake.up();
  });
});
