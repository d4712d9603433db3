import { once } from "node:events";
import { connect } from "node:net";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type {
  ChannelPlace,
  InboundMessage,
  Receipt,
} from "../../../../packages/gateway/src/channels/types.ts";
import { WEBHOOKS } from "../../../../packages/gateway/src/channels/webhooks.ts";
import type { AgentConfig } from "../../../../packages/gateway/src/config/index.ts";
import { webhookRoutes } from "../../../../packages/gateway/src/http/routes/webhooks.ts";
import { silentLogger } from "../../../../packages/gateway/src/lib/logger.ts";
import { createWebhooks } from "../../../../packages/gateway/src/webhooks/index.ts";
import { cloudDelivery, cloudText } from "../../../fixtures/fake-cloudchat.ts";
import { type Ask, startTestServer } from "../../../fixtures/http-server.ts";
import { manualClock } from "../../../fixtures/manual-clock.ts";
import { SIGNED_CHANNELS, type SignedApp, signedHeaders } from "../../../fixtures/webhook-signing.ts";
import { agentWith } from "./agents.ts";

const warnings: string[] = [];
const log = { ...silentLogger, warn: (_: object, text: string) => void warnings.push(text) };
let agents: AgentConfig[];
let stored: { place: ChannelPlace; ids: string[] }[];
let receipts: Receipt[];
let proven: string[];
let store: (place: ChannelPlace, messages: readonly InboundMessage[]) => Promise<void>;
let clock: ReturnType<typeof manualClock>;
let server: Awaited<ReturnType<typeof startTestServer>>;

beforeEach(async () => {
  agents = [agentWith()];
  [stored, receipts, proven] = [[], [], []];
  warnings.length = 0;
  store = async (place, messages) => void stored.push({ place, ids: messages.map(({ eventId }) => eventId) });
  clock = manualClock();
  const webhooks = createWebhooks({
    agents: () => agents,
    channels: WEBHOOKS,
    receive: (place, messages) => store(place, messages),
    receipt: async (_, receipt) => void receipts.push(receipt),
    proven: ({ agentId, channel }) => void proven.push(`${agentId}/${channel}`),
    clock,
    log,
  });
  server = await startTestServer({
    endpoints: webhookRoutes({ webhooks, clock }),
    clock,
    gateway: { publicUrl: "https://bots.example.org/gateway", allowedHosts: ["other.example.org"] },
  });
});
afterEach(() => server[Symbol.asyncDispose]());

const event = (id: string) =>
  JSON.stringify({
    events: [
      {
        type: "message",
        webhookEventId: id,
        source: { type: "user", userId: "U1" },
        message: { type: "text", text: "a" },
      },
    ],
  });
const post = (path: string, body: string, headers: Record<string, string> = {}, more: Ask = {}) =>
  server.ask("POST", path, { body, headers, ...more });
const signed = (app: SignedApp, path: string, body: string) =>
  post(path, body, signedHeaders(app, body, { now: clock.now() }));

describe("the webhook ingress", () => {
  it("stores the messages and then answers exactly {ok: true} [CH-HOOK-2]", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    store = () => {
      begun.resolve();
      return promise;
    };
    let answered = false;
    const answer = signed("sigchat", "/webhooks/sigchat/assistant", event("e1")).finally(() => {
      answered = true;
    });
    await begun.promise;
    expect(answered).toBe(false);
    resolve();
    expect((await answer).status).toBe(200);
    expect((await answer).text).toBe('{"ok":true}');
    expect(proven).toEqual(["assistant/sigchat"]);
  });

  it("asks for the event again when it could not be stored [CH-HOOK-2]", async () => {
    store = () => Promise.reject(new Error("disk is full at /home/someone"));
    const { status, body, text } = await signed("sigchat", "/webhooks/sigchat", event("e1"));
    expect([status, body.code]).toEqual([503, "UNAVAILABLE"]);
    expect(text).not.toContain("/home");
  });

  it("takes the first agent that has the channel's secret, or the one that is named [CH-HOOK-3]", async () => {
    agents = [
      agentWith({}, "bare"),
      agentWith({ sigchat: { ...SIGNED_CHANNELS.sigchat, enabled: false } }, "off"),
      agentWith(SIGNED_CHANNELS, "first"),
      agentWith({ sigchat: { ...SIGNED_CHANNELS.sigchat, channelSecret: "second-secret" } }, "second"),
    ];
    await signed("sigchat", "/webhooks/sigchat", event("e1"));
    const body = event("e2");
    await post("/webhooks/sigchat/second", body, signedHeaders("sigchat", body, { secret: "second-secret" }));
    expect(stored.map(({ place, ids }) => [place, ids])).toEqual([
      [{ agentId: "first", channel: "sigchat", account: "" }, ["e1"]],
      [{ agentId: "second", channel: "sigchat", account: "" }, ["e2"]],
    ]);
  });

  it.each(["nobody", "bare", "off", "__proto__", "A%20B"])(
    "finds no enabled agent in %s [CH-HOOK-3]",
    async (id) => {
      agents = [
        agentWith({}, "bare"),
        agentWith({ teamchat: { ...SIGNED_CHANNELS.teamchat, enabled: false } }, "off"),
      ];
      const { status, body } = await signed("teamchat", `/webhooks/teamchat/${id}`, "{}");
      expect([status, body.code]).toEqual([404, "NOT_FOUND"]);
      expect((await signed("teamchat", "/webhooks/teamchat", "{}")).status).toBe(404);
      expect(proven).toEqual([]);
    },
  );

  it("names the app that it does not know, and nothing more of it [CH-HOOK-1]", async () => {
    for (const method of ["GET", "POST"]) {
      const { status, body } = await server.ask(method, "/webhooks/nochat/assistant", {});
      expect([status, body.error]).toEqual([404, 'There is no webhook for the app "nochat".']);
    }
    for (const app of ["constructor", "__proto__", "%3Cscript%3E", "x".repeat(500), "SIGCHAT"]) {
      const { status, body } = await server.ask("POST", `/webhooks/${app}`, {});
      expect(status).toBe(404);
      expect(body.error).not.toMatch(/[<>]|x{41}/);
    }
  });

  it("needs no key, and minds none [CH-HOOK-1]", async () => {
    for (const key of ["not-a-key", "the-plain-key"]) {
      const body = event("e1");
      const { status } = await post("/webhooks/sigchat/assistant", body, signedHeaders("sigchat", body), {
        key,
      });
      expect(status).toBe(200);
    }
    expect((await server.ask("PUT", "/webhooks/sigchat/assistant")).status).toBe(405);
  });

  it("is reached under the public address and its host, and no foreign one [CH-HOOK-10]", async () => {
    const body = event("e1");
    const from = (host: string, path: string) =>
      post(path, body, { ...signedHeaders("sigchat", body), host }).then(({ status }) => status);
    const path = "/webhooks/sigchat/assistant";
    expect(await from("bots.example.org", path)).toBe(200);
    expect(await from("other.example.org:8443", path)).toBe(200);
    expect(await from("evil.example.org", path)).toBe(403);
    expect(stored).toHaveLength(2);
  });

  it("answers a GET and an empty POST of sigchat whoever has the channel [CH-SIGIN-1]", async () => {
    agents = [];
    for (const [method, path] of [
      ["GET", "/webhooks/sigchat"],
      ["GET", "/webhooks/sigchat/nobody"],
      ["POST", "/webhooks/sigchat/nobody"],
    ] as const) {
      expect(await server.ask(method, path)).toMatchObject({ status: 200, body: { ok: true } });
    }
    expect((await server.ask("POST", "/webhooks/sigchat/nobody", { body: "{}" })).status).toBe(404);
  });

  it("answers the handshake of cloudchat in plain text, whatever the challenge [CH-CLOUD-1]", async () => {
    const query = (token: string) =>
      `/webhooks/cloudchat?hub.mode=subscribe&hub.verify_token=${token}&hub.challenge=%3Cb%3E1`;
    const { status, text, headers } = await server.ask("GET", query("the-verify-token"));
    expect([status, text, headers["content-type"]]).toEqual([200, "<b>1", "text/plain; charset=utf-8"]);
    expect(headers["x-content-type-options"]).toBe("nosniff");
    expect(await server.ask("GET", query("x"))).toMatchObject({ status: 403, body: { code: "FORBIDDEN" } });
    agents = [];
    expect((await server.ask("GET", query("the-verify-token"))).status).toBe(404);
  });

  it("says what is wrong in one error body [CH-HOOK-5]", async () => {
    const { status, body, headers } = await post("/webhooks/teamchat", "{}");
    expect(status).toBe(401);
    expect(body).toEqual({
      error: expect.any(String),
      code: expect.any(String),
      request_id: headers["x-request-id"],
    });
    expect(await signed("teamchat", "/webhooks/teamchat", "{")).toMatchObject({
      status: 400,
      body: { code: "INVALID_JSON" },
    });
    expect(await signed("cloudchat", "/webhooks/cloudchat", "{")).toMatchObject({ status: 400 });
    expect(stored).toEqual([]);
  });

  it("logs refused requests once a minute, however many come [CH-HOOK-5]", async () => {
    for (let i = 0; i < 20; i++) await post("/webhooks/teamchat", "{}");
    expect(warnings).toHaveLength(1);
    clock.advance(60_000);
    await post("/webhooks/teamchat", "{}");
    expect(warnings).toHaveLength(2);
  });

  it("hands on what became of sent messages [CH-CLOUD-6]", async () => {
    const statuses = [{ id: "wamid.9", status: "failed", errors: [{ title: "gone" }] }];
    const body = JSON.stringify(
      cloudDelivery(SIGNED_CHANNELS.cloudchat.phoneNumberId, [cloudText("a", { id: "m" })], statuses),
    );
    expect((await signed("cloudchat", "/webhooks/cloudchat", body)).status).toBe(200);
    expect(receipts).toEqual([{ messageId: "wamid.9", state: "failed", reason: "gone" }]);
    expect(stored[0]?.ids).toEqual(["m"]);
  });
});

describe("a webhook's body", () => {
  const KB = 1024;

  it("may have 256 KB and no more, judged before the signature [CH-HOOK-11]", async () => {
    const full = `{"events":[],"x":"${"a".repeat(256 * KB - 20)}"}`;
    expect(Buffer.byteLength(full)).toBe(256 * KB);
    expect((await signed("sigchat", "/webhooks/sigchat", full)).status).toBe(200);
    for (const app of ["sigchat", "teamchat", "cloudchat"]) {
      const { status, body } = await post(`/webhooks/${app}`, `${full} `);
      expect([status, body.code]).toEqual([413, "PAYLOAD_TOO_LARGE"]);
    }
  });

  it("is cut off at 256 KB where its length is not told [CH-HOOK-11]", async () => {
    const socket = connect(server.port, "127.0.0.1");
    socket.write("POST /webhooks/sigchat HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
    const chunk = Buffer.alloc(64 * KB, "a");
    for (let i = 0; i < 5; i++) {
      socket.write(`${chunk.length.toString(16)}\r\n`);
      socket.write(chunk);
      socket.write("\r\n");
    }
    const [answer] = (await once(socket, "data")) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 413 /);
    socket.destroy();
  });

  it("is refused when it is compressed [CH-HOOK-11]", async () => {
    const body = gzipSync("{}");
    const response = await fetch(`${server.url}/webhooks/sigchat`, {
      method: "POST",
      body,
      headers: { ...signedHeaders("sigchat", body), "content-encoding": "gzip" },
    });
    expect(response.status).toBe(415);
  });

  it("that does not come is given up [CH-HOOK-11]", async () => {
    const socket = connect(server.port, "127.0.0.1");
    socket.write("POST /webhooks/sigchat HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{");
    const answer = once(socket, "data") as Promise<[Buffer]>;
    const ticking = setInterval(() => clock.advance(1_000), 5);
    expect((await answer)[0].toString()).toMatch(/^HTTP\/1\.1 408 /);
    clearInterval(ticking);
    socket.destroy();
  });

  it("is taken as it came, byte by byte [CH-HOOK-11]", async () => {
    const body = `{"events":[ ] ,\r\n "x":"\\u00e9é\u2028"}`;
    expect((await signed("sigchat", "/webhooks/sigchat", body)).status).toBe(200);
    expect(
      (await post("/webhooks/sigchat", JSON.stringify(JSON.parse(body)), signedHeaders("sigchat", body)))
        .status,
    ).toBe(401);
  });
});
