import { Agent, createServer, request as nodeRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { startSlackServer } from "@openclaw/crabline";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { cloudDelivery, cloudText } from "./fixtures/fake-cloudchat.ts";
import {
  SECRETS,
  SIGNATURE_HEADER,
  SIGNED_CHANNELS,
  type SignedApp,
  signedHeaders,
} from "./fixtures/webhook-signing.ts";
import { type Gateway, startGateway, until } from "./harness.ts";

const APPS = Object.keys(SECRETS) as SignedApp[];
/** Nobody listens there: what is answered stays in the outbox. */
const NOWHERE = "http://127.0.0.1:9";
const open = (app: SignedApp) => ({ ...SIGNED_CHANNELS[app], apiBaseUrl: NOWHERE, dmPolicy: "open" });
const channels = Object.fromEntries(APPS.map((app) => [app, open(app)]));

const bodies: Record<SignedApp, (id: string, text: string) => string> = {
  sigchat: (id, text) =>
    JSON.stringify({
      events: [
        {
          type: "message",
          webhookEventId: id,
          timestamp: 1,
          source: { type: "user", userId: "U1" },
          message: { type: "text", id, text },
        },
      ],
    }),
  teamchat: (id, text) =>
    JSON.stringify({
      type: "event_callback",
      event_id: id,
      authorizations: [{ user_id: "UBOT", is_bot: true }],
      event: { type: "message", channel: "D1", channel_type: "im", user: "U1", text, ts: `17000${id}.0001` },
    }),
  cloudchat: (id, text) =>
    JSON.stringify(cloudDelivery(SIGNED_CHANNELS.cloudchat.phoneNumberId, [cloudText(text, { id })])),
};

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({ agent: channels });
});
afterAll(() => gateway[Symbol.asyncDispose]());

const post = (app: string, body: string, headers: Record<string, string>) =>
  gateway.request("POST", `/webhooks/${app}`, { key: null, raw: body, headers });
const messages = async (chatId: string) => {
  const { body } = await gateway.json(
    "GET",
    `/api/v1/agents/assistant/chats/${encodeURIComponent(chatId)}/messages`,
  );
  return ((body.messages ?? []) as { role: string; content: string }[]).toReversed();
};

/** Numbers that look random and are the same in every run (mulberry32). */
function random(seed: number) {
  let state = seed;
  return (below: number) => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}

interface Shot {
  app: SignedApp;
  body: Buffer;
  headers: Record<string, string>;
}

/** A request that was signed and then changed in its body, its signature, its time or its secret. */
function mutated(pick: (below: number) => number, n: number): Shot {
  const app = APPS[n % APPS.length]!;
  const body = Buffer.from(bodies[app](`f${n}`, "SAY accepted"));
  const headers = signedHeaders(app, body);
  const name = SIGNATURE_HEADER[app];
  const at = pick(body.length);
  const changed = Buffer.from(body);
  const signature = headers[name]!;
  const printable = String.fromCharCode(33 + pick(94));
  const place = pick(signature.length);
  switch (pick(10)) {
    case 0:
      changed[at] = changed[at]! ^ (1 << pick(8));
      return { app, body: changed, headers };
    case 1:
      return { app, body: body.subarray(0, Math.max(1, at)), headers };
    case 2:
      return { app, body: Buffer.concat([body, Buffer.from(" \n\t0"[pick(4)]!)]), headers };
    case 3:
      return {
        app,
        body: Buffer.concat([body.subarray(0, at), Buffer.from([pick(256)]), body.subarray(at)]),
        headers,
      };
    case 4: {
      const other = printable === signature[place] ? "~" : printable;
      const wrong = signature.slice(0, place) + other + signature.slice(place + 1);
      // The other case of a hex digit is the same signature.
      const same = wrong.toLowerCase() === signature.toLowerCase() && app !== "sigchat";
      return { app, body, headers: { ...headers, [name]: same ? signature.slice(1) : wrong } };
    }
    case 5:
      return { app, body, headers: { ...headers, [name]: signature.slice(0, place) } };
    case 6:
      return { app, body, headers: { ...headers, [name]: `${signature}${printable}` } };
    case 7:
      return { app, body, headers: signedHeaders(app, body, { secret: SECRETS[APPS[(n + 1) % 3]!] }) };
    case 8: {
      const { [name]: _, ...rest } = headers;
      return { app, body, headers: rest };
    }
    default: {
      if (app !== "teamchat") return { app, body, headers: signedHeaders(APPS[(n + 1) % 3]!, body) };
      const time = Number(headers["x-teamchat-request-timestamp"]) + 1 + pick(600) * (pick(2) || -1) - 300;
      const moved = String(time === Number(headers["x-teamchat-request-timestamp"]) ? time + 1 : time);
      return { app, body, headers: { ...headers, "x-teamchat-request-timestamp": moved } };
    }
  }
}

describe("the running gateway's webhooks", () => {
  it("accept none of 10,000 mutated bodies and headers, and store nothing [CH-HOOK-12]", async () => {
    const pick = random(20_261_121);
    const agent = new Agent({ keepAlive: true, maxSockets: 24 });
    const { hostname, port } = new URL(gateway.url);
    const shoot = ({ app, body, headers }: Shot) =>
      new Promise<number>((resolve, reject) => {
        const path = `/webhooks/${app}/assistant`;
        const sent = nodeRequest(
          {
            agent,
            hostname,
            port,
            path,
            method: "POST",
            headers: { ...headers, "content-length": body.length },
          },
          (response) => {
            response.resume();
            response.once("end", () => resolve(response.statusCode ?? 0));
          },
        );
        sent.once("error", reject);
        sent.end(body);
      });
    const statuses = new Map<number, number>();
    let next = 0;
    await Promise.all(
      Array.from({ length: 24 }, async () => {
        while (next < 10_000) {
          const status = await shoot(mutated(pick, next++));
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
        }
      }),
    );
    agent.destroy();
    expect([...statuses]).toEqual([[401, 10_000]]);
    const { body } = await gateway.json("GET", "/api/v1/agents/assistant/channels");
    for (const { channel, lastInboundAt, connected } of body.channels as {
      channel: string;
      lastInboundAt: unknown;
      connected: unknown;
    }[]) {
      expect([channel, lastInboundAt, connected]).toEqual([channel, null, false]);
    }
  }, 60_000);

  it.each(APPS)(
    "answer a signed event of %s with exactly {ok: true}, also when it comes again [CH-HOOK-2, CH-HOOK-13]",
    async (app) => {
      const body = bodies[app](`700${APPS.indexOf(app)}`, `SAY hello ${app}`);
      const chat = { sigchat: "sigchat-U1", teamchat: "teamchat-D1", cloudchat: "cloudchat-491701234567" }[
        app
      ];
      const headers = signedHeaders(app, body);
      for (let i = 0; i < 3; i++) {
        const answer = await post(app, body, headers);
        expect([answer.status, await answer.text()]).toEqual([200, '{"ok":true}']);
      }
      await until(async () => (await messages(chat)).length >= 2, "the turn");
      expect((await messages(chat)).map(({ content }) => content)).toEqual([
        `SAY hello ${app}`,
        `hello ${app}`,
      ]);
    },
  );

  it("take a replay of teamchat within five minutes once, and none after [CH-HOOK-8, CH-HOOK-13]", async () => {
    const body = bodies.teamchat("8000", "SAY replayed");
    for (const seconds of [-301, 301, -3600]) {
      expect(
        (await post("teamchat", body, signedHeaders("teamchat", body, { now: Date.now() + seconds * 1000 })))
          .status,
      ).toBe(401);
    }
    for (const seconds of [-299, -200, 0, 290]) {
      expect(
        (await post("teamchat", body, signedHeaders("teamchat", body, { now: Date.now() + seconds * 1000 })))
          .status,
      ).toBe(200);
    }
    await until(
      async () => (await messages("teamchat-D1")).some(({ content }) => content === "replayed"),
      "the turn",
    );
    expect((await messages("teamchat-D1")).filter(({ content }) => content === "replayed")).toHaveLength(1);
  });

  it("are declared with the level signature, and none of them under a key [CH-HOOK-1]", async () => {
    const { body } = await gateway.json("GET", "/api/v1/_meta/routes");
    const served = (body.routes as { method: string; path: string; auth: string; tag: string }[]).filter(
      ({ tag }) => tag === "webhooks",
    );
    expect(served.map(({ method, path, auth }) => `${method} ${path} ${auth}`).sort()).toEqual([
      "GET /webhooks/:app signature",
      "GET /webhooks/:app/:agentId signature",
      "POST /webhooks/:app signature",
      "POST /webhooks/:app/:agentId signature",
    ]);
  });

  it("may be called with a slash where the agent's id would stand [CH-HOOK-3]", async () => {
    const body = '{"events":[]}';
    expect((await post("sigchat/", body, signedHeaders("sigchat", body))).status).toBe(200);
    expect((await post("sigchat/second", body, signedHeaders("sigchat", body))).status).toBe(404);
  });

  it("make a channel count as connected with its first valid call [CH-HOOK-14]", async () => {
    const { body } = await gateway.json("GET", "/api/v1/agents/assistant/channels");
    const state = (
      body.channels as { channel: string; connected: boolean; lastInboundAt: number | null }[]
    ).filter(({ channel }) => APPS.includes(channel as SignedApp));
    expect(state).toHaveLength(3);
    for (const { connected, lastInboundAt } of state) {
      expect(connected).toBe(true);
      expect(lastInboundAt).toBeGreaterThan(Date.now() - 60_000);
    }
  });

  it("follow a changed secret without a restart [CH-HOOK-4]", async () => {
    const body = bodies.sigchat("9000", "SAY rotated");
    const config = (await gateway.config()) as { agents: Record<string, unknown>[] };
    config.agents[1]!.sigchat = { ...open("sigchat"), channelSecret: "of-the-second" };
    await gateway.writeConfig(config);
    const second = () =>
      gateway.request("POST", "/webhooks/sigchat/second", {
        key: null,
        raw: body,
        headers: signedHeaders("sigchat", body, { secret: "of-the-second" }),
      });
    await until(async () => (await second()).status === 200, "the new secret");
    config.agents[1]!.sigchat = { ...open("sigchat"), enabled: false };
    await gateway.writeConfig(config);
    await until(async () => (await second()).status === 404, "the channel to be off");
  });
});

describe("an acknowledged event", () => {
  it("survives kill -9 and is answered after the next start [CH-HOOK-2]", async () => {
    const first = await startGateway({ agent: channels });
    const body = bodies.cloudchat("wamid.k", "SAY still here");
    const answer = await first.request("POST", "/webhooks/cloudchat", {
      key: null,
      raw: body,
      headers: signedHeaders("cloudchat", body),
    });
    expect(answer.status).toBe(200);
    await first.kill();
    await using again = await startGateway({ home: first.home });
    await until(async () => {
      const { body: found } = await again.json(
        "GET",
        "/api/v1/agents/assistant/chats/cloudchat-491701234567/messages",
      );
      return (found.messages as { content: string }[] | undefined)?.some(
        ({ content }) => content === "still here",
      );
    }, "the answer");
  });
});

describe("crabline's Slack", () => {
  it("signs its events, repeats one after a 500, and gets one answer [CH-HOOK-15]", async () => {
    const attempts: { id: string; retry: string | undefined; status: number }[] = [];
    let target = "";
    // A proxy that spoils the first answer after the gateway took the event.
    const proxy = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const body = Buffer.concat(chunks);
      const headers = Object.fromEntries(
        Object.entries(request.headers).filter(([name]) => /^(x-slack-|content-type)/.test(name)),
      ) as Record<string, string>;
      const answer = await fetch(target, { method: "POST", body, headers });
      attempts.push({
        id: JSON.parse(body.toString()).event_id,
        retry: headers["x-slack-retry-num"],
        status: answer.status,
      });
      response.writeHead(attempts.length === 1 ? 500 : answer.status).end(await answer.text());
    });
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    const events: { path: string; body: unknown }[] = [];
    const slack = await startSlackServer({
      eventsRequestUrl: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/`,
      signingSecret: SECRETS.teamchat,
      botToken: "xoxb-token",
      recorderPath: join(gateway.home, "crabline-slack.jsonl"),
      onEvent: (event) => void events.push(event as (typeof events)[number]),
    });
    const { endpoints, adminToken } = slack.manifest;
    await using own = await startGateway({
      agent: { teamchat: { ...open("teamchat"), apiBaseUrl: endpoints.apiRoot } },
    });
    target = `${own.url}/webhooks/teamchat/assistant`;
    try {
      const inbound = await fetch(endpoints.adminInboundUrl, {
        method: "POST",
        headers: { "content-type": "application/json", "x-crabline-admin-token": adminToken },
        body: JSON.stringify({ channel: "D0CRAB", user: "U0CRAB", text: "SAY hello &lt;crab&gt;" }),
      });
      expect(inbound.status).toBe(200);
      const posted = () => events.filter(({ path }) => path === "/api/chat.postMessage");
      await until(() => attempts.length === 2 && posted().length > 0, "the retry and the answer");
      expect(attempts.map(({ retry, status }) => [retry, status])).toEqual([
        [undefined, 200],
        ["1", 200],
      ]);
      expect(attempts[0]?.id).toBe(attempts[1]?.id);
      expect(posted()).toMatchObject([{ body: { channel: "D0CRAB" } }]);
      const { body } = await own.json("GET", "/api/v1/agents/assistant/chats/teamchat-D0CRAB/messages");
      expect((body.messages as { content: string }[]).map(({ content }) => content).toReversed()).toEqual([
        "SAY hello <crab>",
        "hello <crab>",
      ]);
    } finally {
      await slack.close();
      proxy.closeAllConnections();
      proxy.close();
    }
  });
});
