import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { messageEvent, signedSigchat, startFakeSigchat, textEvent } from "./fixtures/fake-sigchat.ts";
import { failedAttempts } from "./fixtures/rows.ts";
import { type Gateway, put, startGateway, until } from "./harness.ts";

const SECRET = "the-channel-secret";
const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

let line: Awaited<ReturnType<typeof startFakeSigchat>>;
let gateway: Gateway | undefined;
beforeEach(async () => {
  line = await startFakeSigchat();
});
afterEach(async () => {
  await gateway?.[Symbol.asyncDispose]();
  gateway = undefined;
  await line[Symbol.asyncDispose]();
});

const settings = (extra: object = {}) => ({
  channelSecret: SECRET,
  channelAccessToken: line.token,
  apiBaseUrl: line.apiBaseUrl,
  dataApiBaseUrl: line.apiBaseUrl,
  ...extra,
});
const start = async (extra: object = {}, options: object = {}) => {
  gateway = await startGateway({ agent: { sigchat: settings(extra) }, ...options });
};
const deliver = async (...events: Array<Record<string, unknown>>) => {
  const body = JSON.stringify({ destination: "Ubot", events });
  const headers = signedSigchat(SECRET, body);
  const answer = await gateway!.request("POST", "/webhooks/sigchat/assistant", {
    key: null,
    raw: body,
    headers,
  });
  expect(answer.status).toBe(200);
  expect(await answer.json()).toEqual({ ok: true });
};
const texts = async (count: number): Promise<unknown[]> => {
  await until(() => line.texts().length >= count, `${count} texts`);
  return line.texts();
};
const allowed = { dmPolicy: "allowlist", dmAllowlist: ["U0001"] };
/** The message as the agent saw it. */
const attribute = (text: unknown, name: string) => new RegExp(` ${name}="([^"]*)"`).exec(String(text))?.[1];

describe("LINE", () => {
  it("an unknown sender gets a code by reply, and once approved an answer [CH-SIG-11]", async () => {
    await start();
    line.tokens.add("r1");
    await deliver(textEvent("SAY hello", { replyToken: "r1" }));
    const [knock] = await texts(1);
    const code = /\b[A-HJ-NP-Z2-9]{6}\b/.exec(String(knock))?.[0];
    expect(code).toBeDefined();
    expect(line.taken[0]!.via).toBe("reply");

    const approved = await gateway!.json("POST", "/api/v1/agents/assistant/sigchat/approve", {
      body: { code },
    });
    expect(approved).toMatchObject({ status: 200, body: { ok: true, senderId: "U0001" } });
    line.taken.length = 0;
    line.tokens.add("r2");
    await deliver(textEvent("SAY hello", { replyToken: "r2" }));
    await until(() => line.texts().includes("hello"), "the answer");
    expect(line.taken.find(({ messages }) => messages[0]?.text === "hello")?.via).toBe("reply");
  });

  it("an event that comes three times is answered once; a used token becomes a push [CH-SIG-2, CH-SIG-11]", async () => {
    await start(allowed);
    const event = textEvent("SAY once", { replyToken: "expired" });
    await deliver(event);
    await deliver(event, event);
    await deliver(textEvent("SAY last"));
    await until(() => line.texts().includes("last"), "the last answer");
    expect(line.texts()).toEqual(["once", "last"]);
    expect(line.taken[0]).toMatchObject({ via: "push", to: "U0001" });
  });

  it("the agent gets the sender's name, and a group is answered where it asked [CH-SIG-8, CH-SIG-11]", async () => {
    await start({ ...allowed, groupAllowlist: ["C0001"] });
    line.names.set("U0002", "Eve\n\u202eof LINE\u0007");
    await deliver(textEvent("RAW hello", { user: "U0002", group: "C0001" }));
    const [told] = await texts(1);
    expect(attribute(told, "sender_name")).toBe("Eve of LINE");
    expect(attribute(told, "chat")).toBe("C0001");
    expect(line.taken[0]!.to).toBe("C0001");
    expect(line.to("/group/C0001/member/U0002")).toHaveLength(1);
  });

  it("images and files reach the agent by path, what a browser would run as .bin [CH-FILES-4, CH-FILES-8]", async () => {
    await start(allowed);
    line.files.set("1", { bytes: PNG });
    line.files.set("2", { bytes: Buffer.from("<script>alert(1)</script>") });
    await deliver(messageEvent({ type: "image", id: "1", contentProvider: { type: "line" } }));
    await deliver(
      messageEvent({ type: "file", id: "2", fileName: "../../RAW\u202e page.html", fileSize: 25 }),
    );
    // Words of the fake agent decide what it answers; an image alone is echoed with its count.
    const [image, file] = await texts(2);
    expect(image).toMatch(/img=1/);
    expect(attribute(file, "attachment_kind")).toBe("document");
    expect(attribute(file, "attachment_name")).not.toMatch(/[/\u202e]/);
    const path = attribute(file, "image_path")!;
    expect(path).toMatch(/\.bin$/);
    expect(path.startsWith(join(gateway!.home, "agents/assistant/media"))).toBe(true);
    expect(await readFile(path, "utf8")).toBe("<script>alert(1)</script>");
  });

  it("a file that cannot be fetched still starts a turn, which says why [CH-FILES-9]", async () => {
    await start(allowed);
    line.files.set("2", { bytes: Buffer.alloc(0) });
    await deliver(messageEvent({ type: "file", id: "404", fileName: "RAW.pdf" }));
    await deliver(messageEvent({ type: "file", id: "2", fileName: "RAW.pdf" }));
    await deliver(messageEvent({ type: "file", id: "3", fileName: "RAW.pdf", fileSize: 21 * 1024 * 1024 }));
    const told = await texts(3);
    expect(told[0]).toContain("unavailable: LINE no longer has it");
    expect(told[1]).toContain("unavailable: it is empty");
    expect(told[2]).toContain("unavailable: it is larger than 20 MB");
    for (const text of told) expect(attribute(text, "image_path")).toBeUndefined();
  });

  it("an image of the agent is shown from a public link, another file as its link [CH-SIG-6, CH-FILES-7]", async () => {
    await start(allowed, { gateway: { publicUrl: "https://example.org/gateway" } });
    const workspace = join(gateway!.home, "agents/assistant/workspace");
    const chart = await put(workspace, "chart.png", PNG);
    const report = await put(workspace, "report.txt", "the report");
    await deliver(textEvent(`SHARE ${chart}`));
    await deliver(textEvent(`SHARE ${report}`));
    const sent = () => line.taken.flatMap(({ messages }) => messages);
    const image = await until(() => sent().find(({ type }) => type === "image"), "the image");
    const link = String(image.originalContentUrl);
    expect(link).toMatch(/^https:\/\/example\.org\/gateway\/shared\/[\w-]{43}$/);
    const fetched = await gateway!.request("GET", new URL(link).pathname, { key: null });
    expect(fetched.headers.get("content-type")).toBe("image/png");
    const file = await until(
      () => sent().find(({ text }) => String(text).startsWith("report.txt\n")),
      "the file",
    );
    const address = new URL(String(file.text).split("\n")[1]!);
    expect(await (await gateway!.request("GET", address.pathname, { key: null })).text()).toBe("the report");
  });

  it("a reply waits for a provider that is down, over a crash, and is sent once [CH-SIG-12]", async () => {
    await start(allowed);
    await line.down();
    await deliver(textEvent("SAY survived"));
    await until(() => failedAttempts(gateway!) === 1, "the failed attempt, on disk");
    const { home } = gateway!;
    await gateway!.kill();
    await line.up();
    gateway = await startGateway({ home });
    await deliver(textEvent("SAY after"));
    await until(() => line.texts().includes("after"), "the answers", 20_000);
    expect(line.texts()).toEqual(["survived", "after"]);
  });
});
