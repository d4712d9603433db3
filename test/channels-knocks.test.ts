import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { cloudDelivery, cloudText, startFakeCloudchat } from "./fixtures/fake-cloudchat.ts";
import { startFakeSigchat, textEvent } from "./fixtures/fake-sigchat.ts";
import { slackEvent, startFakeTeamchat } from "./fixtures/fake-teamchat.ts";
import { SIGNED_CHANNELS, type SignedApp, signedHeaders } from "./fixtures/webhook-signing.ts";
import { type Gateway, startGateway, until } from "./harness.ts";

const API = "/api/v1/agents/assistant";
const FROM = "491701234567";
const codeIn = (text: unknown) => /\b[A-HJKMNP-Z2-9]{6}\b/.exec(String(text))?.[0] ?? "";

let gateway: Gateway;
let slack: Awaited<ReturnType<typeof startFakeTeamchat>>;
let line: Awaited<ReturnType<typeof startFakeSigchat>>;
let graph: Awaited<ReturnType<typeof startFakeCloudchat>>;
beforeEach(async () => {
  [slack, line, graph] = await Promise.all([startFakeTeamchat(), startFakeSigchat(), startFakeCloudchat()]);
  gateway = await startGateway({
    agent: {
      teamchat: { ...SIGNED_CHANNELS.teamchat, botToken: slack.token, apiBaseUrl: slack.apiBaseUrl },
      sigchat: { ...SIGNED_CHANNELS.sigchat, channelAccessToken: line.token, apiBaseUrl: line.apiBaseUrl },
      cloudchat: { ...SIGNED_CHANNELS.cloudchat, apiBaseUrl: graph.url },
    },
  });
});
afterEach(async () => {
  await gateway[Symbol.asyncDispose]();
  await Promise.all([slack, line, graph].map((fake) => fake[Symbol.asyncDispose]()));
});

async function deliver(app: SignedApp, payload: unknown): Promise<void> {
  const raw = JSON.stringify(payload);
  const headers = signedHeaders(app, raw);
  const answer = await gateway.request("POST", `/webhooks/${app}/assistant`, { key: null, raw, headers });
  expect(answer.status).toBe(200);
}
const onLine = (text: string, from: { user?: string; group?: string } = {}) =>
  deliver("sigchat", { destination: "Ubot", events: [textEvent(text, from)] });
const onGraph = (text: string, from = FROM) =>
  deliver("cloudchat", cloudDelivery(SIGNED_CHANNELS.cloudchat.phoneNumberId, [cloudText(text, { from })]));
const onSlack = (text: string, event: Record<string, unknown> = {}) =>
  deliver("teamchat", slackEvent({ text, ...event }));

interface Sender {
  userId: string;
  kind: string;
  code?: string;
  count: number;
  displayName?: string;
  firstSeen: number;
  lastSeen: number;
}
const senders = async (app: string) =>
  (await gateway.json("GET", `${API}/${app}/pending`)).body.senders as Sender[];
const approve = (app: string, code: string) =>
  gateway.json("POST", `${API}/${app}/approve`, { body: { code } });
/** Who waits, once one entry is as it should be. */
const waitFor = (app: string, fits: (sender: Sender) => boolean) =>
  until(async () => (await senders(app)).find(fits), `a sender of ${app}`);

describe("a stranger on a channel with webhooks", () => {
  it("gets a code twice, is counted, and is answered once approved: cloudchat, also after a crash [CH-ACCESS-7, CH-ACCESS-18, CH-ACCESS-20, CH-ACCESS-21]", async () => {
    for (const text of ["one", "two", "three", "four"]) await onGraph(text);
    const sender = await waitFor("cloudchat", ({ count }) => count === 4);
    expect(sender).toMatchObject({ userId: FROM, kind: "user", displayName: "Ada" });
    expect(sender.lastSeen).toBeGreaterThanOrEqual(sender.firstSeen);
    await until(() => graph.texts().length === 2, "two codes");
    for (const text of graph.texts()) expect(codeIn(text)).toBe(sender.code);

    await gateway.kill();
    gateway = await startGateway({ home: gateway.home });
    expect(await senders("cloudchat")).toMatchObject([{ userId: FROM, code: sender.code }]);
    expect(await approve("cloudchat", sender.code!.toLowerCase())).toMatchObject({
      status: 200,
      body: { ok: true, senderId: FROM, kind: "user" },
    });
    expect(await senders("cloudchat")).toEqual([]);
    await onGraph("SAY welcome");
    await until(() => graph.texts().includes("welcome"), "the answer");
    const { agents } = (await gateway.config()) as { agents: { cloudchat: object }[] };
    expect(agents[0]!.cloudchat).toMatchObject({ dmAllowlist: [FROM] });
    // Nothing that was denied is answered later.
    expect(graph.texts().filter((text) => codeIn(text) === "")).toEqual(["welcome"]);
  });

  it("waits in a list of five that a restart empties: sigchat [CH-ACCESS-6, CH-ACCESS-18]", async () => {
    for (let at = 1; at <= 4; at++) {
      await onLine("hello", { user: `U${at}` });
      await waitFor("sigchat", ({ userId }) => userId === `U${at}`);
    }
    await onLine("hello", { user: "U1", group: "C1" });
    await waitFor("sigchat", ({ userId }) => userId === "C1");
    await onLine("hello again", { user: "U1" });
    await waitFor("sigchat", ({ userId, count }) => userId === "U1" && count === 2);
    await onLine("hello", { user: "U5" });
    await waitFor("sigchat", ({ userId }) => userId === "U5");
    const waiting = await senders("sigchat");
    expect(waiting.map(({ userId }) => userId).sort()).toEqual(["C1", "U1", "U3", "U4", "U5"]);
    expect(waiting.find(({ userId }) => userId === "C1")).toMatchObject({ kind: "group", count: 1 });
    const gone = await gateway.json("DELETE", `${API}/sigchat/pending/C1`);
    expect(gone).toMatchObject({ status: 200, body: { ok: true } });
    expect((await senders("sigchat")).map(({ userId }) => userId)).not.toContain("C1");
    await gateway.stop();
    gateway = await startGateway({ home: gateway.home });
    expect(await senders("sigchat")).toEqual([]);
  });

  it("is approved as a person or as a channel, and neither opens the other; a mention is needed in channels: teamchat [CH-ACCESS-2, CH-ACCESS-21]", async () => {
    await onSlack("SAY direct");
    const person = await waitFor("teamchat", ({ kind }) => kind === "user");
    expect(person.userId).toBe("U0001");
    await approve("teamchat", person.code!);

    const inChannel = { channel: "C0001", channel_type: "channel" };
    await onSlack("nobody asked", inChannel);
    await onSlack("<@UBOT> SAY in the channel", { ...inChannel, type: "app_mention" });
    const channel = await waitFor("teamchat", ({ userId }) => userId === "C0001");
    expect(channel).toMatchObject({ count: 1 });
    const settled = await approve("teamchat", channel.code!);
    expect(settled.body).toMatchObject({ ok: true, senderId: "C0001", kind: channel.kind, groupId: "C0001" });

    await onSlack("<@UBOT> SAY to anybody", { ...inChannel, type: "app_mention", user: "U0777" });
    await until(() => slack.texts().includes("to anybody"), "the answer in the channel");
    await onSlack("SAY not to you", { channel: "D0777", user: "U0777" });
    await waitFor("teamchat", ({ userId }) => userId === "U0777");
    await onSlack("SAY to you");
    await until(() => slack.texts().includes("to you"), "the answer to the person");
    expect(slack.texts()).not.toContain("not to you");
  });

  it("is shut out again by the next message once taken off the list, or the policy is closed [CH-ACCESS-13]", async () => {
    const config = (await gateway.config()) as { agents: { cloudchat: Record<string, unknown> }[] };
    const set = async (settings: Record<string, unknown>) => {
      Object.assign(config.agents[0]!.cloudchat, settings);
      await gateway.writeConfig(config);
    };
    const answered = (text: string) =>
      until(async () => {
        await onGraph(`SAY ${text}`);
        return graph.texts().includes(text);
      }, `an answer with ${text}`);
    await set({ dmAllowlist: [`+${FROM}`] });
    await answered("let in");
    await gateway.json("DELETE", `${API}/cloudchat/pending/${FROM}`);
    await set({ dmAllowlist: [], pairing: false });
    const counted = await until(async () => {
      await onGraph("SAY shut out");
      return (await senders("cloudchat"))[0];
    }, "the sender to be denied");
    expect(counted).toMatchObject({ userId: FROM, kind: "user" });
    expect(counted.code).toBeUndefined();
    await set({ dmPolicy: "open" });
    await answered("open");
  });
});
