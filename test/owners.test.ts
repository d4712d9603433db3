import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { describe, expect, it, onTestFinished } from "vitest";
import { cloudDelivery, cloudText, startFakeCloudchat } from "./fixtures/fake-cloudchat.ts";
import { postgresStore, withoutPostgres } from "./fixtures/postgres.ts";
import { SIGNED_CHANNELS, signedHeaders } from "./fixtures/webhook-signing.ts";
import {
  alive,
  type Gateway,
  type GatewayOptions,
  root,
  startGateway,
  testConfig,
  until,
} from "./harness.ts";

type Json = Record<string, unknown>;
interface Setup {
  leaseMs?: number;
  /** Added to the entry of `assistant`. */
  agent?: Json;
}
interface Message {
  sender: string;
  content: string;
  interrupted?: boolean;
}

/** `LEASE_MS=15000` for the default; the least makes the tests faster. */
const LEASE_MS = Number(process.env.LEASE_MS ?? 5_000);
/** `ROUNDS=100` for a long run. */
const ROUNDS = Number(process.env.ROUNDS ?? 2);
const HOUR_MS = 3_600_000;
const FROM = "491701234567";

/** Gateways with homes of their own, on one schema, whose agents have the same workspaces. */
async function rig({ leaseMs = LEASE_MS, agent = {} }: Setup = {}) {
  const store = await postgresStore();
  const workspaces = await mkdtemp(join(tmpdir(), "agent-gateway-workspaces-"));
  onTestFinished(() => rm(workspaces, { recursive: true, force: true, maxRetries: 5 }));
  const client = new pg.Client({ connectionString: store.url });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query(`SET search_path = "${store.schema}"`);
  const query = async (sql: string) => (await client.query(sql)).rows as Json[];
  return {
    query,
    /** Begins a turn that takes a while; resolves when some of its text is stored. */
    async beginTurn(gateway: Gateway) {
      const reply = say(gateway, "assistant", "SLOW 400 50").catch((error: Error) => error);
      await until(async () => (await query("SELECT id FROM turn_parts")).length > 3, "stored text");
      return { reply };
    },
    /** Starts a gateway that has these agents. */
    async start(
      agents: readonly string[] = ["assistant", "second"],
      options: GatewayOptions = {},
    ): Promise<Gateway> {
      const made = testConfig({ gateway: { store, cluster: { leaseMs } }, agent }) as {
        agents: Array<{ id: string }>;
      };
      const own = made.agents.filter(({ id }) => agents.includes(id));
      const config = { ...made, agents: own.map((one) => ({ ...one, workspace: join(workspaces, one.id) })) };
      const gateway = await startGateway({ config, ...options });
      onTestFinished(() => gateway[Symbol.asyncDispose]());
      return gateway;
    },
  };
}

const say = (gateway: Gateway, agent: string, message: string, extra: Json = {}) =>
  gateway.json("POST", `/api/v1/agents/${agent}/messages`, { body: { message, chat_id: "me", ...extra } });
const serves = async (gateway: Gateway, agent = "assistant") =>
  (await gateway.json("GET", `/api/v1/agents/${agent}/sessions?chat_id=me`)).status === 200;
async function history(gateway: Gateway, chat = "api-me"): Promise<Message[]> {
  const { body } = await gateway.json("GET", `/api/v1/agents/assistant/chats/${chat}/messages?limit=100`);
  return (body.messages as Message[]).toReversed();
}
/** Processes of the agents of a gateway. */
async function childrenOf(gateway: Gateway): Promise<number[]> {
  const { body } = await gateway.json("GET", "/status");
  const agents = body.agents as Array<{ sessions: Array<{ pid: number | null }> }>;
  return agents.flatMap(({ sessions }) => sessions.flatMap(({ pid }) => pid ?? []));
}

describe.skipIf(withoutPostgres())("two gateways on one store", () => {
  it("serve their own agents side by side, and neither robs the other, whatever their clocks say [OWN-3, OWN-7]", async () => {
    const { start } = await rig();
    const jumping = (ms: number) => ({
      nodeArgs: ["--import", join(root, "test/fixtures/clock-jump.mjs")],
      env: { CLOCK_JUMP_MS: String(ms) },
    });
    const first = await start(["assistant"], jumping(HOUR_MS));
    const second = await start(["assistant", "second"], jumping(-HOUR_MS));
    const refused = await say(second, "assistant", "hello");
    expect(refused).toMatchObject({ status: 503, body: { code: "UNAVAILABLE" } });
    expect(refused.headers.get("retry-after")).toMatch(/^\d+$/);
    expect((await say(first, "second", "hello")).status).toBe(404);
    const until_ = performance.now() + 2 * LEASE_MS;
    let sent = 0;
    const load = async (gateway: Gateway, agent: string, chat: string) => {
      for (let n = 0; performance.now() < until_; n++) {
        const reply = await say(gateway, agent, `SAY ${chat} ${n}`, { chat_id: chat });
        expect(reply).toMatchObject({ status: 200, body: { response: `${chat} ${n}` } });
        sent++;
      }
    };
    const loads = Promise.all(
      ["a", "b", "c"].flatMap((chat) => [load(first, "assistant", chat), load(second, "second", chat)]),
    );
    await until(() => sent > 20, "some replies");
    first.process.kill("SIGUSR2");
    second.process.kill("SIGUSR2");
    await loads;
    expect((await say(second, "assistant", "hello")).status).toBe(503);
    expect(first.output() + second.output()).not.toContain("gave up an agent");
  });

  it("carry on for one that was killed: its turn is closed once, and the next one runs [OWN-4]", async () => {
    const { start, beginTurn } = await rig();
    const first = await start();
    const second = await start();
    await beginTurn(first);
    const killedAt = performance.now();
    await first.kill();
    await until(() => serves(second), "the takeover", 20_000);
    expect(performance.now() - killedAt).toBeLessThan(LEASE_MS + 5_000);
    await until(async () => (await history(second)).length === 2, "the closed turn");
    expect(await history(second)).toMatchObject([
      { content: "SLOW 400 50" },
      { content: expect.stringMatching(/\w/) },
    ]);
    expect((await say(second, "assistant", "SAY again")).body.response).toBe("again");
    // It comes back as one that owns nothing.
    const third = await start(undefined, { home: first.home });
    expect((await say(third, "assistant", "hello")).status).toBe(503);
    expect(await history(second)).toHaveLength(4);
  });

  it("are never both at work when one stands still for twice the lease [OWN-1, OWN-8]", async () => {
    const { start, beginTurn } = await rig();
    const first = await start();
    const second = await start();
    const child = Number((await say(first, "assistant", "PID", { chat_id: "other" })).body.response);
    const { reply } = await beginTurn(first);
    first.process.kill("SIGSTOP");
    try {
      await until(() => serves(second), "the takeover", 20_000);
      const closed = await history(second);
      expect(closed).toHaveLength(2);
      expect((await say(second, "assistant", "SAY mine")).body.response).toBe("mine");
      await new Promise((resolve) => setTimeout(resolve, LEASE_MS));
    } finally {
      first.process.kill("SIGCONT");
    }
    expect((await say(first, "assistant", "hello")).status).toBe(503);
    expect(await reply).toMatchObject({ status: 503, body: { code: "UNAVAILABLE" } });
    await until(() => !alive(child), "the former owner's children to be gone");
    expect((await say(second, "assistant", "SAY still mine")).body.response).toBe("still mine");
    expect((await history(second)).map(({ content }) => content).slice(2)).toEqual([
      "SAY mine",
      "mine",
      "SAY still mine",
      "still mine",
    ]);
  });

  it("hand over at once at a stop, and a start on the same home takes its own back at once [OWN-9]", async () => {
    const { start } = await rig({ leaseMs: 120_000 });
    const first = await start();
    await first.kill();
    const again = await start(undefined, { home: first.home });
    expect((await say(again, "assistant", "SAY back")).body.response).toBe("back");
    const second = await start();
    expect((await say(second, "assistant", "hello")).status).toBe(503);
    const { home } = again;
    expect(await again.stop()).toBe(0);
    await until(() => serves(second), "the handover", 5_000);
    const third = await start(undefined, { home });
    expect((await say(third, "assistant", "hello")).status).toBe(503);
  });

  it(
    `lose and double nothing of a chat over ${ROUNDS} rounds of killing the owner [OWN-10]`,
    async () => {
      await using fake = await startFakeCloudchat();
      const cloudchat = {
        ...SIGNED_CHANNELS.cloudchat,
        ...{ apiBaseUrl: fake.url, dmAllowlist: [FROM], sendReadReceipts: false, reactionLevel: "off" },
      };
      const { start, query } = await rig({ agent: { cloudchat } });
      const gateways = [await start(), await start()];
      /** As a provider does: to one address, and again until it is accepted. */
      const deliver = async (n: number, text: string) => {
        const body = JSON.stringify(
          cloudDelivery(SIGNED_CHANNELS.cloudchat.phoneNumberId, [cloudText(`SAY ${text}`, { id: text })]),
        );
        await until(async () => {
          const request = gateways[n]!.request("POST", "/webhooks/cloudchat/assistant", {
            ...{ key: null, raw: body, headers: signedHeaders("cloudchat", body) },
          });
          return request.then(
            ({ status }) => status === 200,
            () => false,
          );
        }, "a webhook to be accepted");
      };
      const texts: string[] = [];
      const children: number[] = [];
      /** How long it took until the other gateway served, where nobody came back earlier. */
      const takeovers: number[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        const owner = (await serves(gateways[0]!)) ? 0 : 1;
        const survivor = 1 - owner;
        const said: Promise<void>[] = [];
        for (let n = 0; n < 6; n++) {
          const text = `${round}-${n}`;
          texts.push(text);
          // Half of them come to the one that can only store them.
          said.push(deliver(n % 2 === 0 ? owner : survivor, text));
          await new Promise((resolve) => setTimeout(resolve, Math.random() * 60));
          if (n === 3) {
            children.push(...(await childrenOf(gateways[owner]!)));
            const killedAt = performance.now();
            await gateways[owner]!.kill();
            // It takes its own back, or finds it taken.
            if (round % 2 === 1) {
              await until(() => serves(gateways[survivor]!), "the takeover", 20_000);
              takeovers.push(performance.now() - killedAt);
            }
            gateways[owner] = await start(undefined, { home: gateways[owner]!.home });
          }
        }
        await Promise.all(said);
        await until(
          () => serves(gateways[survivor]!).then(async (yes) => yes || serves(gateways[owner]!)),
          "an owner",
          20_000,
        );
      }
      const owner = (await serves(gateways[0]!)) ? gateways[0]! : gateways[1]!;
      // A turn that had said something when it was cut off is answered by that, with a note.
      const answers = () =>
        query(
          `SELECT i.event_id, i.state, i.note, string_agg(o.state, ',') AS sent FROM channel_inbox i
           LEFT JOIN channel_outbox o ON o.inbox = i.id AND o.purpose = 'reply' GROUP BY i.id ORDER BY i.id`,
        );
      const open = async () =>
        (await answers()).filter(
          ({ state, sent }) => state !== "done" || (sent !== "sent" && sent !== "unknown"),
        );
      await until(async () => (await open()).length === 0, "every answer", 30_000).catch(async (error) => {
        throw new Error(`${error}: ${JSON.stringify(await open())}`);
      });
      expect(await answers()).toHaveLength(texts.length);
      const whole = fake.texts().filter((text) => text !== undefined && texts.includes(text));
      expect(whole.toSorted()).toEqual([...new Set(whole)].toSorted());
      const stored = (await history(owner, `cloudchat-${FROM}`)).map(({ content }) => content);
      await until(() => !children.some(alive), "the children of the killed to be gone");
      const [half, most] = [0.5, 1].map(
        (share) => takeovers.toSorted((a, b) => a - b)[Math.ceil(takeovers.length * share) - 1],
      );
      const unknown = (await answers()).filter(({ sent }) => sent === "unknown").length;
      console.info(
        `${texts.length} messages, ${unknown} unknown, ${children.length} children; takeover p50 ${Math.round(half!)} ms, max ${Math.round(most!)} ms of ${takeovers.length}`,
      );
      for (const text of texts.slice(-40)) {
        expect(stored.filter((content) => content.includes(`SAY ${text}`))).toHaveLength(1);
      }
    },
    60_000 + ROUNDS * 30_000,
  );
});
