import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { personMessage } from "./fixtures/fake-botchat.ts";
import { cloudDelivery, cloudText } from "./fixtures/fake-cloudchat.ts";
import { textEvent } from "./fixtures/fake-sigchat.ts";
import { slackEvent } from "./fixtures/fake-teamchat.ts";
import { rowsOf } from "./fixtures/rows.ts";
import { SIGNED_CHANNELS, signedHeaders } from "./fixtures/webhook-signing.ts";
import { type Gateway, startGateway, until } from "./harness.ts";

const LIMIT = 256 * 1024;
/** Senders at once on each channel, and the memory that all of them together may cost. */
const FLOODS = 8;
const MOST_MB = 250;
/** Nobody listens there: what is answered stays in the outbox. */
const apiBaseUrl = "http://127.0.0.1:9";
const botchat = {
  botToken: "1:token",
  mode: "webhook",
  webhookSecret: "the-webhook-secret",
  apiBaseUrl,
};
const open = (app: keyof typeof SIGNED_CHANNELS) => ({
  ...SIGNED_CHANNELS[app],
  apiBaseUrl,
  dmPolicy: "open",
});

let messages = 0;
/** A message of each channel, and the headers that prove it. */
const APPS: Record<string, { message(text: string): object; headers(body: string): Record<string, string> }> =
  {
    botchat: {
      message: (text) => ({ update_id: ++messages, ...personMessage(text, 501, 501, {}, messages) }),
      headers: () => ({
        "content-type": "application/json",
        "x-telegram-bot-api-secret-token": botchat.webhookSecret,
      }),
    },
    cloudchat: {
      message: (text) => cloudDelivery(SIGNED_CHANNELS.cloudchat.phoneNumberId, [cloudText(text)]),
      headers: (body) => signedHeaders("cloudchat", body),
    },
    sigchat: {
      message: (text) => ({ events: [textEvent(text)] }),
      headers: (body) => signedHeaders("sigchat", body),
    },
    teamchat: {
      message: (text) => slackEvent({ text }),
      headers: (body) => signedHeaders("teamchat", body),
    },
  };

let gateway: Gateway;
/** Bodies that drip in or stop, from the beginning: they take longest to be refused. */
let drips: Connection[];
let silent: Connection;
beforeAll(async () => {
  gateway = await startGateway({
    gateway: { publicUrl: "http://127.0.0.1:1/gateway" },
    agent: {
      botchat,
      cloudchat: open("cloudchat"),
      sigchat: open("sigchat"),
      teamchat: open("teamchat"),
    },
  });
  silent = await begin("sigchat", `Content-Length: ${LIMIT}`);
  drips = await Promise.all(
    Object.keys(APPS).map(async (app) => {
      const drip = await begin(app, `Content-Length: ${LIMIT}`);
      const timer = setInterval(() => drip.socket.write(" "), 1_000);
      drip.socket.once("close", () => clearInterval(timer));
      return drip;
    }),
  );
});
afterAll(() => gateway[Symbol.asyncDispose]());

const signed = (app: string, size?: number) => {
  const text = JSON.stringify(APPS[app]!.message("SAY fits"));
  const body = size === undefined ? text : text.padEnd(size);
  return { body, headers: APPS[app]!.headers(body) };
};
const post = async (app: string, raw: BodyInit, headers: Record<string, string>) => {
  const sent = { method: "POST", body: raw, headers, duplex: "half" } as RequestInit;
  const answer = await fetch(`${gateway.url}/webhooks/${app}/assistant`, sent);
  await answer.arrayBuffer();
  return answer.status;
};
const stored = (app: string) =>
  rowsOf(gateway, `SELECT 1 FROM channel_inbox WHERE channel = '${app}'`).length;
const rssMb = async () =>
  Number(/VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${gateway.process.pid}/status`, "utf8"))![1]) / 1024;

interface Connection {
  socket: Socket;
  /** What was received. */
  text: () => string;
}

/** A connection on which a request with this head has begun. */
async function begin(app: string, head: string): Promise<Connection> {
  const socket = connect(Number(new URL(gateway.url).port), "127.0.0.1");
  let received = "";
  socket.on("error", () => {});
  socket.setEncoding("latin1").on("data", (chunk: string) => {
    received += chunk;
  });
  await once(socket, "connect");
  socket.write(`POST /webhooks/${app}/assistant HTTP/1.1\r\nHost: 127.0.0.1\r\n${head}\r\n\r\n`);
  return { socket, text: () => received };
}

describe.each(Object.keys(APPS))("the webhook of %s", (app) => {
  it("takes a body of 256 KB, and refuses a longer or a compressed one and stores nothing of it [CH-HOOK-11]", async () => {
    const before = stored(app);
    const full = signed(app, LIMIT);
    expect(await post(app, full.body, full.headers)).toBe(200);
    expect(stored(app)).toBe(before + 1);
    const over = signed(app, LIMIT + 1);
    expect(await post(app, over.body, over.headers)).toBe(413);
    const pieces = new Blob([over.body]).stream();
    expect(await post(app, pieces, over.headers)).toBe(413);
    const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024, " "));
    expect(bomb.length).toBeLessThan(LIMIT);
    for (const encoding of ["gzip", "GZIP", "deflate, gzip", "br"]) {
      const headers = { ...signed(app).headers, "content-encoding": encoding };
      expect(await post(app, bomb, headers), encoding).toBe(415);
    }
    expect(stored(app)).toBe(before + 1);
  });
});

describe("bodies that never end", () => {
  it("on all webhooks at once cost little memory, and messages come in meanwhile [CH-HOOK-16]", async () => {
    const apps = Object.keys(APPS);
    const before = await rssMb();
    const chunk = `10000\r\n${"x".repeat(0x10000)}\r\n`;
    let over = false;
    let sent = 0;
    let peak = 0;
    const floods = await Promise.all(
      apps.flatMap((app) => Array.from({ length: FLOODS }, () => begin(app, "Transfer-Encoding: chunked"))),
    );
    const flooding = floods.map(async ({ socket }) => {
      const closed = once(socket, "close");
      while (!over && !socket.destroyed) {
        sent += chunk.length;
        if (!socket.write(chunk)) await Promise.race([once(socket, "drain"), closed]);
      }
      socket.destroy();
    });
    await until(
      async () => {
        peak = Math.max(peak, await rssMb());
        return floods.every(({ text }) => text().startsWith("HTTP/1.1 413 "));
      },
      "every one to be refused",
      20_000,
    );
    for (const app of apps) {
      const rows = stored(app);
      const { body, headers } = signed(app);
      expect(await post(app, body, headers)).toBe(200);
      expect(stored(app)).toBe(rows + 1);
      peak = Math.max(peak, await rssMb());
    }
    over = true;
    await Promise.allSettled(flooding);
    expect(sent).toBeGreaterThan(floods.length * LIMIT);
    expect(peak - before).toBeLessThan(MOST_MB);
  }, 60_000);

  it("and drip in are given up after some seconds, on all webhooks [CH-HOOK-16]", async () => {
    const refused = ({ text }: Connection) => text().startsWith("HTTP/1.1 408 ");
    await until(() => refused(silent), "the silent one to be refused", 15_000);
    await until(() => drips.every(refused), "the others to be refused", 40_000);
    await until(() => [...drips, silent].every(({ socket }) => socket.closed), "the connections to end");
  }, 60_000);
});
