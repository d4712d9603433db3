import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { startSlackServer } from "@openclaw/crabline";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { signedTeamchat, slackEvent, startFakeTeamchat } from "./fixtures/fake-teamchat.ts";
import { freePort } from "./fixtures/ports.ts";
import { failedAttempts } from "./fixtures/rows.ts";
import { type Gateway, put, startGateway, until } from "./harness.ts";

const SECRET = "the-signing-secret";

let slack: Awaited<ReturnType<typeof startFakeTeamchat>>;
let gateway: Gateway | undefined;
beforeEach(async () => {
  slack = await startFakeTeamchat();
});
afterEach(async () => {
  await gateway?.[Symbol.asyncDispose]();
  gateway = undefined;
  await slack[Symbol.asyncDispose]();
});

const start = async (extra: object = {}, options: object = {}) => {
  const own = { botToken: slack.token, signingSecret: SECRET, apiBaseUrl: slack.apiBaseUrl, ...extra };
  gateway = await startGateway({ agent: { teamchat: own }, ...options });
};
const deliver = async (event: Record<string, unknown>) => {
  const body = JSON.stringify(event);
  const headers = signedTeamchat(SECRET, body);
  const answer = await gateway!.request("POST", "/webhooks/teamchat/assistant", {
    key: null,
    raw: body,
    headers,
  });
  expect(answer.status).toBe(200);
};
const say = (text: string, event: Record<string, unknown> = {}) => deliver(slackEvent({ text, ...event }));
const inChannel = { type: "app_mention", channel: "C0001", channel_type: undefined };
const allowed = { dmAllowlist: ["U0001"], groupAllowlist: ["C0001"] };
const posts = async (count: number) => {
  await until(() => slack.posted.length >= count, `${count} posts`);
  return slack.posted;
};
const attribute = (text: unknown, name: string) =>
  new RegExp(` ${name}=&quot;(.*?)&quot;`).exec(quoted(text))?.[1];
const quoted = (text: unknown) => String(text).replaceAll('"', "&quot;");

describe("Slack", () => {
  it("an unknown sender gets a code, and once approved an answer [CH-TEAM-12]", async () => {
    await start();
    await say("SAY hello");
    const [knock] = await posts(1);
    const code = /\b[A-HJ-NP-Z2-9]{6}\b/.exec(knock!.text)?.[0];
    const approved = await gateway!.json("POST", "/api/v1/agents/assistant/teamchat/approve", {
      body: { code },
    });
    expect(approved).toMatchObject({ status: 200, body: { ok: true, senderId: "U0001" } });
    await say("SAY hello");
    await until(() => slack.texts().includes("hello"), "the answer");
  });

  it("a mention in a channel is answered in its thread, one of a thread in that thread [CH-TEAM-1]", async () => {
    await start(allowed);
    await say("<@UBOT> SAY one", { ...inChannel, ts: "17.1" });
    await say("<@UBOT> SAY two", { ...inChannel, ts: "17.3", thread_ts: "17.0" });
    await posts(2);
    expect(slack.posted.map(({ text, channel, thread_ts }) => [text, channel, thread_ts])).toEqual([
      ["one", "C0001", "17.1"],
      ["two", "C0001", "17.0"],
    ]);
    await until(() => slack.reactions.length === 4, "the hourglasses to go");
    expect(slack.reactions.toSorted()).toEqual(["+17.1", "+17.3", "-17.1", "-17.3"]);
  });

  it("an event that comes three times is answered once [CH-TEAM-12]", async () => {
    await start(allowed);
    const event = slackEvent({ text: "SAY once" }, "Ev-same");
    for (let i = 0; i < 3; i++) await deliver(event);
    await say("SAY last");
    await until(() => slack.texts().includes("last"), "the last answer");
    expect(slack.texts()).toEqual(["once", "last"]);
  });

  it("a mention that arrives as two events is answered once; messages sent at the same moment are answered separately [CH-TEAMIN-7]", async () => {
    await start({ ...allowed, requireMention: false });
    await say("<@UBOT> SAY both", { ...inChannel, ts: "17.1" });
    await say("<@UBOT> SAY both", { channel: "C0001", channel_type: "channel", ts: "17.1" });
    await say("SAY next", { channel: "C0001", channel_type: "channel", ts: "17.1" });
    await until(() => slack.texts().includes("next"), "the last answer");
    expect(slack.texts()).toEqual(["both", "next"]);
  });

  it("files come in with their name and go out as files [CH-TEAM-7, CH-TEAM-8, CH-FILES-7, CH-FILES-8]", async () => {
    await start(allowed);
    slack.names.set("U0001", "Ann");
    slack.files.set("F1", { bytes: Buffer.from("%PDF-1.7 …") });
    const file = {
      id: "F1",
      name: "a.pdf",
      mimetype: "application/pdf",
      size: 12,
      url_private: `${slack.url}/files-pri/F1`,
    };
    await say("RAW look", { subtype: "file_share", files: [file] });
    const [told] = await posts(1);
    const path = attribute(told!.text, "image_path")!;
    expect(path).toMatch(/\.pdf$/);
    expect(await readFile(path, "utf8")).toBe("%PDF-1.7 …");
    expect(attribute(told!.text, "attachment_name")).toBe("a.pdf");
    expect(attribute(told!.text, "sender_name")).toBe("Ann");

    const report = await put(join(gateway!.home, "agents/assistant/workspace"), "report.txt", "the report");
    await say(`SHARE ${report}`);
    const shared = await until(() => slack.shared[0], "the file");
    expect(shared).toMatchObject({
      name: "report.txt",
      bytes: Buffer.from("the report"),
      call: { channel_id: "D0001" },
    });
  });

  it("a reply whose fate is unknown is not sent again, what follows is [CH-TEAM-4]", async () => {
    await start(allowed);
    slack.fail("chat.postMessage", { kind: "drop", taken: true });
    await say("SAY one");
    await say("SAY two");
    await until(() => slack.texts().includes("two"), "the second answer");
    expect(slack.texts()).toEqual(["one", "two"]);
    expect(slack.to("chat.postMessage")).toHaveLength(2);
  });

  it("a reply waits for a provider that is down, over a crash, and is sent once [CH-TEAM-13]", async () => {
    await start(allowed);
    await slack.down();
    await say("SAY survived");
    await until(() => failedAttempts(gateway!) === 1, "the failed attempt, on disk");
    const { home } = gateway!;
    await gateway!.kill();
    await slack.up();
    gateway = await startGateway({ home });
    await say("SAY after");
    await until(() => slack.texts().includes("after"), "the answers", 20_000);
    expect(slack.texts()).toEqual(["survived", "after"]);
  });
});

describe("Slack as crabline plays it", () => {
  it("delivers signed events, which are answered in the chat [CH-TEAM-12]", async () => {
    // Each needs the other's address, so the fake's port is chosen before.
    const port = await freePort();
    const botToken = "xoxb-crabline";
    await start({ botToken, apiBaseUrl: `http://127.0.0.1:${port}/api`, dmAllowlist: ["UCRABUSER"] });
    const server = await startSlackServer({
      port,
      botToken,
      signingSecret: SECRET,
      recorderPath: join(gateway!.home, "crabline.jsonl"),
      eventsRequestUrl: `${gateway!.url}/webhooks/teamchat/assistant`,
    });
    try {
      const { endpoints, adminToken } = server.manifest;
      const ask = (url: string, headers: Record<string, string>, body: object) =>
        fetch(url, {
          method: "POST",
          headers: { "content-type": "application/json", ...headers },
          body: JSON.stringify(body),
        });
      const channel = "D0123456789";
      const inbound = await ask(
        endpoints.adminInboundUrl,
        { "x-crabline-admin-token": adminToken },
        { channel, text: "SAY hello from the gateway" },
      );
      expect(inbound.status).toBe(200);
      const history = async () => {
        const answer = await ask(
          `${endpoints.apiRoot}conversations.history`.replace(/api(?=conv)/, "api/"),
          { authorization: `Bearer ${botToken}` },
          { channel },
        );
        return ((await answer.json()) as { messages: Array<{ text: string }> }).messages;
      };
      await until(
        async () => (await history()).some(({ text }) => text === "hello from the gateway"),
        "the answer",
      );
    } finally {
      await server.close();
    }
  });
});
