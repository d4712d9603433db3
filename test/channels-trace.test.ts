import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runCli } from "./fixtures/cli.ts";
import { signedSigchat, startFakeSigchat, textEvent } from "./fixtures/fake-sigchat.ts";
import { type Gateway, KEYS, startGateway, until } from "./harness.ts";

const SECRET = "the-channel-secret";
const AGENT = "/api/v1/agents/assistant";
let line: Awaited<ReturnType<typeof startFakeSigchat>>;
let gateway: Gateway;
beforeAll(async () => {
  line = await startFakeSigchat();
  gateway = await startGateway({
    agent: {
      sigchat: {
        channelSecret: SECRET,
        channelAccessToken: line.token,
        apiBaseUrl: line.apiBaseUrl,
        dmAllowlist: ["U0001"],
      },
    },
  });
});
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  await line[Symbol.asyncDispose]();
});

async function deliver(event: Record<string, unknown>): Promise<string> {
  const body = JSON.stringify({ destination: "Ubot", events: [event] });
  const headers = signedSigchat(SECRET, body);
  const answer = await gateway.request("POST", "/webhooks/sigchat/assistant", {
    key: null,
    raw: body,
    headers,
  });
  expect(answer.status).toBe(200);
  return String(event.webhookEventId);
}
interface Trace {
  message: { id: number; requestId: string; state: string };
  steps: { step: string; at: number; state?: string; providerId?: string }[];
}
const traceOf = async (id: string) =>
  (await gateway.json("GET", `${AGENT}/channels/trace/${encodeURIComponent(id)}`, { key: KEYS.plain }))
    .body as unknown as Trace;
const sent = (trace: Trace) =>
  trace.steps?.some(({ step, state }) => step === "delivery" && state === "sent");

describe("the trace of a message", () => {
  it("goes from received to delivered, in order of time, and is found by each of its ids [CH-HEALTH-5]", async () => {
    const id = await deliver(textEvent("SAY a secret answer"));
    const trace = await until(async () => {
      const found = await traceOf(id);
      return sent(found) ? found : undefined;
    }, "the delivery");
    expect(trace.steps.map(({ step }) => step)).toEqual(["received", "stored", "turn", "reply", "delivery"]);
    expect(trace.steps.map(({ at }) => at)).toEqual(
      trace.steps.map(({ at }) => at).toSorted((a, b) => a - b),
    );
    expect(JSON.stringify(trace)).not.toContain("secret answer");
    expect(trace.message).toMatchObject({ channel: "sigchat", chatId: "U0001", state: "done" });
    for (const other of [String(trace.message.id), trace.message.requestId]) {
      expect(await traceOf(other)).toEqual(trace);
    }
  });

  it("is shown by one command, whatever agent it was for, as is the channel's state [CH-CLI-2, CH-HEALTH-1]", async () => {
    const id = await deliver(textEvent("SAY again"));
    await until(async () => sent(await traceOf(id)), "the delivery");
    const env = { GATEWAY_URL: gateway.url, GATEWAY_API_KEY: KEYS.admin, GATEWAY_HOME: gateway.home };
    const shown = await runCli(["trace", id], { env });
    expect(shown.code).toBe(0);
    expect(shown.stdout).toMatch(/^agent: assistant\nchannel: sigchat\nchat: U0001\n/);
    expect(shown.stdout).toMatch(/^delivery\t\S+Z\t\+\d+ ms\tsent/m);
    const json = await runCli(["channels", "trace", "assistant", id, "--json"], { env });
    expect(JSON.parse(json.stdout)).toMatchObject({ agent: "assistant", message: { eventId: id } });

    const { body } = await gateway.json("GET", `${AGENT}/channels`);
    const sigchat = (body.channels as { channel: string }[]).find(({ channel }) => channel === "sigchat");
    expect(sigchat).toMatchObject({
      enabled: true,
      connected: true,
      lastInboundAt: expect.any(Number),
      lastOutboundAt: expect.any(Number),
      lastError: null,
      queued: 0,
    });
    const metrics = await (await gateway.request("GET", "/metrics")).text();
    const labels = 'agent="assistant",channel="sigchat",account=""';
    expect(metrics).toContain(`agent_gateway_channel_connected{${labels}} 1\n`);
    expect(metrics).toContain(`agent_gateway_channel_messages_received_total{${labels}} 2\n`);
    expect(metrics).toContain(`agent_gateway_channel_deliveries_total{${labels},state="sent"} 2\n`);
  });

  it("covers a stranger who was denied and got a code [CH-HEALTH-5]", async () => {
    const id = await deliver(textEvent("SAY no", { user: "U0002" }));
    const trace = await until(async () => {
      const found = await traceOf(id);
      return sent(found) ? found : undefined;
    }, "the code");
    expect(trace.steps.map(({ step }) => step)).toEqual([
      "received",
      "stored",
      "denied",
      "reply",
      "delivery",
    ]);
    expect(trace.message.requestId).toBeNull();
  });
});
