import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { checkToken } from "../../../../packages/gateway/src/channels/teamchat/check.ts";
import { createAdapter } from "../../../../packages/gateway/src/channels/teamchat/index.ts";
import type {
  AdapterContext,
  InboundMessage,
  Outgoing,
} from "../../../../packages/gateway/src/channels/types.ts";
import { openAdapter, outgoing, unending } from "../../../fixtures/adapter.ts";
import { startFakeTeamchat } from "../../../fixtures/fake-teamchat.ts";
import { manualClock } from "../../../fixtures/manual-clock.ts";
import { tempFolder } from "../../../fixtures/temp-home.ts";
import { until } from "../../../harness.ts";

const POST = "/api/chat.postMessage";

let slack: Awaited<ReturnType<typeof startFakeTeamchat>>;
beforeEach(async () => {
  const fake = await startFakeTeamchat();
  slack = fake;
  onTestFinished(() => fake[Symbol.asyncDispose]());
});

const settings = () => ({ botToken: slack.token, apiBaseUrl: slack.apiBaseUrl });
const open = (extra: Partial<AdapterContext> = {}, own: object = {}) =>
  openAdapter(createAdapter, "teamchat", { ...settings(), ...own }, extra);
const sender = async (extra: Partial<AdapterContext> = {}, own: object = {}) => {
  const { adapter } = await open(extra, own);
  return (message: Outgoing, signal = unending) => adapter.send(message, signal);
};
const place = { chatId: "C1", reply: {}, receivedAt: 0 };

describe("a message", () => {
  it("is posted once, as mrkdwn, in the thread that it answers, without previews of links [CH-TEAM-1]", async () => {
    const send = await sender();
    const sent = await send(
      outgoing("C1", "**bold** <b> & [a](https://a.example)", { reply: { thread_ts: "17.1" } }),
    );
    expect(sent).toEqual({ status: "sent", messageId: slack.posted[0]!.ts });
    expect(slack.posted).toMatchObject([
      {
        channel: "C1",
        thread_ts: "17.1",
        text: "*bold* &lt;b&gt; &amp; <https://a.example|a>",
        call: { unfurl_links: "false", unfurl_media: "false" },
      },
    ]);
    expect(slack.requests[0]!.headers.authorization).toBe(`Bearer ${slack.token}`);
    await send(outgoing("D1", "hi"));
    expect(slack.posted[1]!.thread_ts).toBeUndefined();
  });

  it("as plain text carries no markup, and nothing that Slack would read as a mention [CH-TEAM-1]", async () => {
    const send = await sender();
    const buttons = [{ label: "Fast", command: "/model fast" }];
    await send(outgoing("C1", { kind: "text", text: "**hi** <!channel>", plain: true, buttons }));
    expect(slack.posted[0]).toMatchObject({
      text: "hi &lt;!channel&gt;\nFast: /model fast",
      call: { mrkdwn: "false" },
    });
    expect(slack.posted[0]!.call.blocks).toBeUndefined();
  });

  it("has buttons that carry commands below its text [CH-TEAM-2]", async () => {
    const buttons = Array.from({ length: 30 }, (_, i) => ({ label: `Model ${i}`, command: `/model m${i}` }));
    await (await sender())(outgoing("C1", { kind: "text", text: `${"Choose ".repeat(500)}`, buttons }));
    const blocks = JSON.parse(slack.posted[0]!.call.blocks!) as Array<{
      type: string;
      text?: { text: string };
      elements?: Array<{ value: string; action_id: string }>;
    }>;
    expect(blocks.map(({ type }) => type)).toEqual(["section", "section", "actions", "actions"]);
    for (const { text: section } of blocks.slice(0, 2))
      expect(section!.text.length).toBeLessThanOrEqual(3_000);
    const elements = blocks.flatMap(({ elements = [] }) => elements);
    expect(elements.map(({ value }) => value)).toEqual(buttons.map(({ command }) => command));
    expect(new Set(elements.map(({ action_id }) => action_id)).size).toBe(30);
    expect(slack.posted[0]!.text).toContain("Choose");
  });

  it("whose form Slack refuses comes again as plain text [CH-TEAM-1]", async () => {
    slack.errors.set("chat.postMessage", "invalid_blocks");
    expect(await (await sender())(outgoing("C1", "x"))).toMatchObject({ status: "markup" });
  });

  it("takes the place of an earlier one; to do so twice changes nothing [CH-TEAM-3]", async () => {
    const send = await sender();
    const { messageId } = (await send(outgoing("C1", "thinking"))) as { messageId: string };
    slack.fail("chat.update", { kind: "drop", taken: true });
    const change = outgoing("C1", "the answer", { replaces: messageId });
    expect(await send(change)).toMatchObject({ status: "unknown" });
    const { adapter: repeating } = await open();
    expect(repeating.repeatable!(change)).toBe(true);
    expect(repeating.repeatable!(outgoing("C1", "the answer"))).toBe(false);
    expect(await send(change)).toEqual({ status: "sent", messageId });
    expect(slack.posted).toHaveLength(1);
    expect(slack.texts()).toEqual(["the answer"]);
    expect(await send(outgoing("C1", "x", { replaces: "1.1" }))).toMatchObject({ status: "failed" });
    const { adapter } = await open();
    await adapter.edit!(place, messageId, "*more*");
    expect(slack.texts()).toEqual(["_more_"]);
    await adapter.edit!(place, "1.1", "nothing is thrown");
  });
});

describe("what became of a send", () => {
  it("is unknown when the connection breaks or the answer is cut, and it is not sent again [CH-TEAM-4]", async () => {
    const send = await sender();
    for (const [kind, taken] of [
      ["drop", true],
      ["drop", false],
      ["cut", true],
    ] as const) {
      slack.fail(POST, { kind, taken });
      expect(await send(outgoing("C1", "x"))).toMatchObject({ status: "unknown" });
    }
    slack.fail(POST, { kind: "status", status: 200, body: "<html>" });
    expect(await send(outgoing("C1", "x"))).toEqual({
      status: "unknown",
      reason: "Could not read Slack's response.",
    });
    slack.errors.set("chat.postMessage", "fatal_error");
    expect(await send(outgoing("C1", "x"))).toMatchObject({ status: "unknown" });
    expect(slack.to(POST)).toHaveLength(5);
  });

  it("is unknown without an answer within 55 s [CH-TEAM-4]", async () => {
    slack.fail(POST, { kind: "hang", taken: true });
    const clock = manualClock();
    const pending = (await sender({ clock }))(outgoing("C1", "x"));
    await until(() => slack.to(POST).length === 1, "the post");
    clock.advance(55_000);
    expect(await pending).toMatchObject({ status: "unknown" });
  });

  it("is to be tried again when Slack cannot be reached, limits the rate or answers 5xx [CH-TEAM-5]", async () => {
    const send = await sender();
    slack.fail(POST, { kind: "status", status: 429, headers: { "retry-after": "3" } });
    slack.fail(POST, { kind: "status", status: 429 });
    slack.fail(POST, { kind: "status", status: 503, headers: { "retry-after": "9" } });
    slack.fail(POST, { kind: "status", status: 500, body: "<html>" });
    expect(await send(outgoing("C1", "x"))).toMatchObject({ status: "retry", afterMs: 3_000 });
    expect(await send(outgoing("C1", "x"))).toMatchObject({ status: "retry", afterMs: 30_000 });
    expect(await send(outgoing("C1", "x"))).toMatchObject({ status: "retry", afterMs: 9_000 });
    expect(await send(outgoing("C1", "x"))).toMatchObject({ status: "retry" });
    expect(slack.to(POST)).toHaveLength(4);
    slack.errors.set("chat.postMessage", "ratelimited");
    expect(await send(outgoing("C1", "x"))).toMatchObject({ status: "retry" });
    slack.errors.clear();
    await slack.down();
    expect(await send(outgoing("C1", "x"))).toEqual({
      status: "retry",
      reason: "The provider could not be reached (ECONNREFUSED).",
    });
    await slack.up();
    expect(await send(outgoing("C1", "x"))).toMatchObject({ status: "sent" });
  });

  it("is a failure with a clear sentence when Slack refuses [CH-TEAM-6]", async () => {
    const send = await sender();
    for (const [error, sentence] of [
      ["channel_not_found", /does not know this channel/],
      ["not_in_channel", /invite it/],
      ["invalid_auth", /check teamchat\.botToken/],
      ["account_inactive", /install the app again/],
      ["missing_scope", /chat:write/],
      ["something_new", /^Slack refused the message \(something_new\)\.$/],
    ] as const) {
      slack.errors.set("chat.postMessage", error);
      expect(await send(outgoing("C1", "x"))).toEqual({
        status: "failed",
        reason: expect.stringMatching(sentence),
      });
    }
    slack.errors.clear();
    expect(await (await sender({}, { botToken: "xoxb-wrong" }))(outgoing("C1", "x"))).toMatchObject({
      status: "failed",
    });
    slack.fail(POST, { kind: "status", status: 302, headers: { location: "https://elsewhere.example" } });
    expect(await send(outgoing("C1", "x"))).toEqual({ status: "failed", reason: "Slack answered 302." });
  });
});

describe("a file", () => {
  const file = async (content = "the report") => {
    const path = join(await tempFolder(), "x");
    await writeFile(path, content);
    return { kind: "file", path, mime: "application/pdf", name: "report.pdf", caption: "Here" } as const;
  };

  it("is uploaded and shared in the thread, under its name, with its caption [CH-TEAM-7]", async () => {
    const content = await file();
    const sent = await (await sender())(outgoing("C1", content, { reply: { thread_ts: "17.1" } }));
    expect(sent).toEqual({ status: "sent" });
    expect(slack.shared).toMatchObject([
      {
        name: "report.pdf",
        bytes: Buffer.from("the report"),
        call: { channel_id: "C1", thread_ts: "17.1", initial_comment: "Here" },
      },
    ]);
    const [upload] = slack.to("/upload/");
    expect(upload!.headers.authorization).toBeUndefined();
    expect(upload!.headers["content-length"]).toBe("10");
  });

  it("may be uploaded again until it is shared, and is not shared again when nobody knows [CH-TEAM-7]", async () => {
    const send = await sender();
    const content = await file();
    slack.fail("getUploadURLExternal", { kind: "drop", taken: true });
    slack.fail("/upload/", { kind: "cut", taken: true });
    slack.fail("/upload/", { kind: "status", status: 500 });
    for (let i = 0; i < 3; i++)
      expect(await send(outgoing("C1", content))).toMatchObject({ status: "retry" });
    expect(slack.shared).toEqual([]);
    slack.fail("completeUploadExternal", { kind: "drop", taken: true });
    expect(await send(outgoing("C1", content))).toMatchObject({ status: "unknown" });
    expect(slack.shared).toHaveLength(1);
    slack.errors.set("files.getUploadURLExternal", "missing_scope");
    expect(await send(outgoing("C1", content))).toMatchObject({
      status: "failed",
      reason: expect.stringContaining("files:write"),
    });
  });

  it("of a message is fetched with the token, from Slack's file host or the configured server alone [CH-TEAM-8]", async () => {
    const { adapter } = await open();
    slack.files.set("F1", { bytes: Buffer.from("bytes") });
    const fetch = (ref: Record<string, string>, mime = "image/png") =>
      adapter.fetchMedia!({ kind: "image", ref, mime }, unending);
    expect(await text(await fetch({ url: `${slack.url}/files-pri/F1` }))).toBe("bytes");
    expect(await text(await fetch({ id: "F1" }))).toBe("bytes");
    for (const url of [
      "https://evil.example/files-pri/F1",
      "http://files.slack.com/x",
      "https://files.slack.com.evil.example/x",
      "https://user@evil.example/files.slack.com",
      `file://${slack.url.slice(7)}/x`,
      "no address",
    ]) {
      await expect(fetch({ url }), url).rejects.toThrow("does not trust");
    }
    await expect(fetch({ id: "F9" })).rejects.toThrow("Slack no longer has it");
  });

  it("for which the scope is missing says so, though Slack shows a sign-in page [CH-TEAM-8]", async () => {
    const { adapter } = await open();
    const fetch = (mime: string) =>
      adapter.fetchMedia!({ kind: "document", ref: { url: `${slack.url}/files-pri/F1` }, mime }, unending);
    slack.files.set("F1", {
      bytes: Buffer.from("<html>"),
      headers: { "content-type": "text/html; charset=utf-8" },
    });
    await expect(fetch("image/png")).rejects.toThrow("files:read");
    expect(await text(await fetch("text/html"))).toBe("<html>");
    slack.fail("/files-pri/", {
      kind: "status",
      status: 302,
      headers: { location: "https://slack.com/signin" },
    });
    await expect(fetch("image/png")).rejects.toThrow("files:read");
  });
});

describe("while the agent works", () => {
  const target = { ...place, messageId: "17.1" };

  it("an hourglass stands on the message, put there before it is taken away [CH-TEAM-9]", async () => {
    const { adapter } = await open();
    const end = adapter.working!(target);
    end();
    end();
    adapter.working!(place)();
    await until(() => slack.reactions.length === 2, "both reactions");
    expect(slack.reactions).toEqual(["+17.1", "-17.1"]);
  });

  it("a missing scope is told once, and then nothing is tried any more [CH-TEAM-9]", async () => {
    const { adapter, log } = await open();
    slack.errors.set("reactions.add", "missing_scope");
    adapter.working!(target)();
    adapter.working!(target)();
    await until(() => log.lines.length > 0, "the line");
    const asked = slack.to("/api/reactions.").length;
    adapter.working!(target)();
    expect(slack.to("/api/reactions.")).toHaveLength(asked);
    expect(log.lines).toHaveLength(1);
    expect(slack.reactions).toEqual([]);
  });
});

describe("a sender's name", () => {
  it("is that of the profile, remembered; undefined where Slack does not tell [CH-TEAM-10]", async () => {
    const { adapter } = await open();
    slack.names.set("U1", "Ann \u202egnp\n");
    const from = (senderId: string) => ({ senderId }) as InboundMessage;
    expect(await adapter.nameOf!(from("U1"))).toBe("Ann gnp");
    expect(await adapter.nameOf!(from("U1"))).toBe("Ann gnp");
    expect(slack.to("users.info")).toHaveLength(1);
    expect(await adapter.nameOf!(from("U2"))).toBeUndefined();
    await adapter.close();
    expect(await adapter.nameOf!(from("U3"))).toBeUndefined();
  });
});

describe("a token", () => {
  it("is judged by Slack [CH-TEAM-11]", async () => {
    const check = (botToken: string) => checkToken({ ...settings(), botToken }, unending);
    expect(await check(slack.token)).toEqual({ ok: true });
    expect(await check("xoxb-wrong")).toEqual({ refused: expect.stringContaining("(invalid_auth)") });
    expect(await check("bad\nheader")).toHaveProperty("refused");
    slack.errors.set("auth.test", "internal_error");
    expect(await check(slack.token)).toEqual({ unreachable: true });
    slack.fail("auth.test", { kind: "status", status: 502, body: "<html>" });
    expect(await check(slack.token)).toEqual({ unreachable: true });
    await slack.down();
    expect(await check(slack.token)).toEqual({ unreachable: true });
    await slack.up();
  });
});
