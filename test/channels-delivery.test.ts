import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { startTeamchatRig, type TeamchatRig } from "./fixtures/teamchat-rig.ts";
import { KEYS, put, root, until } from "./harness.ts";

const preload = ["--import", join(root, "test/fixtures/kill-at.mjs")];
const POST = "chat.postMessage";
const outbox = (rig: TeamchatRig) =>
  rig.rows("SELECT state, attempts, reason, purpose FROM channel_outbox ORDER BY id");
const settled = (rig: TeamchatRig, count: number) =>
  until(
    () =>
      rig.rows("SELECT 1 FROM channel_outbox WHERE state IN ('sent', 'failed', 'unknown')").length >= count &&
      rig.rows("SELECT 1 FROM channel_inbox WHERE state IN ('waiting', 'turn', 'command')").length === 0,
    `${count} settled replies`,
    20_000,
  );

describe("replies", () => {
  it("whose connection broke after the request was written are unknown and never sent again [CH-OUT-1]", async () => {
    await using rig = await startTeamchatRig();
    for (const kind of ["drop", "cut"] as const) {
      rig.slack.fail(POST, { kind, taken: true });
      await rig.say(`SAY ${kind}`);
      await until(() => rig.slack.texts().includes(kind), "the message to be taken");
    }
    await rig.say("SAY after");
    await settled(rig, 3);
    expect(outbox(rig).map(({ state, attempts }) => [state, attempts])).toEqual([
      ["unknown", 1],
      ["unknown", 1],
      ["sent", 1],
    ]);
    await rig.restart();
    await rig.say("SAY later");
    await settled(rig, 4);
    expect(rig.slack.texts()).toEqual(["drop", "cut", "after", "later"]);
  });

  it("of unknown outcome are counted and listed, and are sent again at the owner's request [CH-UNSURE-1, CH-UNSURE-4, CH-UNSURE-5]", async () => {
    await using rig = await startTeamchatRig();
    rig.slack.fail(POST, { kind: "drop", taken: false });
    await rig.say("SAY perhaps");
    await settled(rig, 1);
    const path = "/api/v1/agents/assistant/channels";
    const count = async () => {
      const { channels } = (await rig.gateway.json("GET", path)).body as {
        channels: Array<{ unknown: number }>;
      };
      const { agents } = (await rig.gateway.json("GET", "/status")).body as {
        agents: Array<{ channels: Record<string, { unknown: number }> }>;
      };
      const metrics = await (await rig.gateway.request("GET", "/metrics")).text();
      return [
        channels.at(-1)!.unknown,
        agents[0]!.channels.teamchat!.unknown,
        Number(
          /^agent_gateway_channel_unknown_deliveries\{.*channel="teamchat".*\} (\d+)$/m.exec(metrics)?.[1],
        ),
      ];
    };
    expect(await count()).toEqual([1, 1, 1]);
    const list = async () =>
      (await rig.gateway.json("GET", `${path}/deliveries?state=unknown`, { key: KEYS.plain })).body
        .deliveries as Array<{ id: number }>;
    const [found] = await list();
    expect(found).toEqual({
      id: expect.any(Number),
      channel: "teamchat",
      account: "",
      chatId: "D0001",
      state: "unknown",
      purpose: "reply",
      text: "perhaps",
      createdAt: expect.any(Number),
      settledAt: expect.any(Number),
      reason: expect.any(String),
      sendable: true,
    });
    const again = (id: string | number, key: string = KEYS.write) =>
      rig.gateway.json("POST", `${path}/deliveries/${id}/send-again`, { key });
    expect((await again(found!.id, KEYS.plain)).status).toBe(403);
    expect((await again("x")).status).toBe(400);
    expect((await again(999)).body.code).toBe("NOT_FOUND");
    expect((await again(found!.id)).body).toEqual({ ok: true });
    await until(() => rig.slack.texts().includes("perhaps"), "the reply");
    expect((await again(found!.id)).body.code).toBe("CONFLICT");
    expect(await count()).toEqual([0, 0, 0]);
    expect(await list()).toMatchObject([{ id: found!.id, sendable: false }]);
    for (const query of ["state=sent", "limit=0", "limit=201"])
      expect((await rig.gateway.json("GET", `${path}/deliveries?${query}`)).status).toBe(400);
  });

  it("refused for too many requests come again after the time that the provider asks for [CH-OUT-2]", async () => {
    await using rig = await startTeamchatRig();
    const headers = { "retry-after": "1" };
    rig.slack.fail(POST, { kind: "status", status: 429, headers, body: { ok: false, error: "ratelimited" } });
    const begun = Date.now();
    await rig.say("SAY patience");
    await settled(rig, 1);
    expect(Date.now() - begun).toBeGreaterThanOrEqual(1000);
    expect(rig.slack.texts()).toEqual(["patience"]);
    expect(outbox(rig)).toMatchObject([{ state: "sent", attempts: 2 }]);
  });

  it("that a provider answers with 5xx, or does not accept because it is down, are retried and stay in order [CH-OUT-3]", async () => {
    await using rig = await startTeamchatRig();
    rig.slack.fail(POST, { kind: "status", status: 503, body: {} });
    await rig.say("SAY first");
    await rig.say("SAY second");
    await settled(rig, 2);
    await rig.slack.down();
    await rig.say("SAY third");
    await rig.say("SAY fourth");
    await until(
      () => outbox(rig).some(({ reason }) => String(reason).includes("reached")),
      "a failed attempt",
    );
    await rig.slack.up();
    await settled(rig, 4);
    expect(rig.slack.texts()).toEqual(["first", "second", "third", "fourth"]);
    expect(outbox(rig).every(({ state }) => state === "sent")).toBe(true);
  });

  it("that are refused for good are failed, and the next one goes out [CH-OUT-4, EVENT-13]", async () => {
    await using rig = await startTeamchatRig();
    rig.slack.errors.set(POST, "channel_not_found");
    await rig.say("SAY nowhere");
    await settled(rig, 1);
    rig.slack.errors.delete(POST);
    await rig.say("SAY somewhere");
    await settled(rig, 2);
    expect(outbox(rig).map(({ state }) => state)).toEqual(["failed", "sent"]);
    const { body } = await rig.gateway.json("GET", "/api/v1/agents/assistant/channels");
    expect(body.channels).toContainEqual(
      expect.objectContaining({ channel: "teamchat", enabled: true, queued: 0, lastError: null }),
    );
    await until(async () => {
      const feed = await rig.gateway.json("GET", "/api/v1/events?stream=false&types=delivery.*");
      const events = feed.body.events as Array<{ type: string; data: object }>;
      if (events.length === 0) return false;
      expect(events).toEqual([
        expect.objectContaining({
          type: "delivery.failed",
          data: expect.objectContaining({ agentId: "assistant", channel: "teamchat", deliveryId: 1 }),
        }),
      ]);
      return true;
    }, "the event of the failed delivery");
  });

  it("longer than the provider takes come in parts, in order, nothing missing [CH-OUT-5]", async () => {
    await using rig = await startTeamchatRig();
    await rig.say("DELTAS 4000");
    await until(() => rig.slack.texts().join(" ").includes("d3999"), "the last part", 20_000);
    const texts = rig.slack.texts();
    expect(texts.length).toBeGreaterThan(3);
    for (const text of texts) expect(text.length).toBeLessThanOrEqual(3900);
    expect(texts.join(" ").split(/\s+/)).toEqual(Array.from({ length: 4000 }, (_, n) => `d${n}`));
  });

  it("bring images as images, and files that the agent shares as files [CH-OUT-6]", async () => {
    await using rig = await startTeamchatRig();
    await rig.say("IMAGE");
    await until(() => rig.slack.shared.length === 1, "the image");
    expect(rig.slack.shared[0]!.bytes.subarray(1, 4).toString()).toBe("PNG");
    const file = await put(rig.gateway.home, "agents/assistant/workspace/report.csv", "a,b\n1,2\n");
    await rig.say(`SHARE ${file}`);
    await until(() => rig.slack.shared.length === 2, "the file");
    expect(rig.slack.shared[1]).toMatchObject({ name: "report.csv" });
    expect(rig.slack.shared[1]!.bytes.toString()).toBe("a,b\n1,2\n");
  });

  it("of a long turn show what there is so far, and take its place at the end [CH-OUT-7]", async () => {
    await using rig = await startTeamchatRig({ progressMs: 300 });
    await rig.say("SLOW 60 30");
    await until(() => rig.slack.posted.length === 1, "the progress");
    expect(rig.slack.texts()[0]).toMatch(/…$/);
    await settled(rig, 2);
    expect(rig.slack.posted).toHaveLength(1);
    expect(rig.slack.posted[0]!.earlier.length).toBeGreaterThan(1);
    expect(rig.slack.texts()[0]).not.toMatch(/…$/);
    expect(rig.slack.texts()[0]!.split(/\s+/)).toHaveLength(60);
  });
});

describe("kill -9", () => {
  it("after the 200 loses no message: it was on disk before [CH-CRASH-1]", async () => {
    await using rig = await startTeamchatRig();
    await rig.restart({ nodeArgs: preload, env: { KILL_AT: "after-user-row", KILL_TURN: "1" } });
    const statuses = [await rig.say("SAY kept"), await rig.say("SAY kept too")];
    await rig.restart();
    const expected = ["kept", "kept too"].filter((_, index) => statuses[index] === 200);
    expect(expected).not.toHaveLength(0);
    await until(() => expected.every((word) => rig.slack.texts().includes(word)), "the replies");
    expect(new Set(rig.slack.texts()).size).toBe(rig.slack.texts().length);
  });

  it("before the agent gave anything runs the turn again, and history has the message once [CH-CRASH-2]", async () => {
    await using rig = await startTeamchatRig();
    await rig.restart({ nodeArgs: preload, env: { KILL_AT: "after-spawn", KILL_TURN: "1" } });
    await rig.say("HISTORY of this");
    await rig.restart();
    await until(() => rig.slack.posted.length === 1, "the reply");
    expect(rig.slack.texts()[0]!.match(/HISTORY of this/g)).toHaveLength(1);
    expect(await rig.history("teamchat-D0001")).toMatchObject([
      ["user", "HISTORY of this"],
      ["assistant", expect.any(String)],
    ]);
  });

  it("in the middle of an answer sends the text so far, and says that it was interrupted [CH-CRASH-3]", async () => {
    await using rig = await startTeamchatRig();
    await rig.say("SLOW 100 50");
    await until(
      () => rig.rows("SELECT 1 FROM turn_parts WHERE text LIKE '%w3%'").length > 0,
      "some text on disk",
    );
    await rig.restart();
    await until(() => rig.slack.posted.length === 1, "the rest");
    expect(rig.slack.texts()[0]).toMatch(/w3/);
    expect(rig.slack.texts()[0]).toMatch(/interrupted/);
    await rig.say("SAY next");
    await until(() => rig.slack.posted.length === 2, "the next reply");
    expect(rig.slack.texts()[1]).toBe("next");
  });

  it("while a reply was being sent leaves it unknown: not sent again [CH-CRASH-4]", async () => {
    await using rig = await startTeamchatRig();
    await rig.restart({ nodeArgs: preload, env: { KILL_AT: "after-provider-answer", KILL_TURN: "1" } });
    await rig.say("SAY taken");
    await until(() => rig.slack.posted.length === 1, "the reply");
    await rig.restart();
    await rig.say("SAY next");
    await settled(rig, 2);
    expect(rig.slack.texts()).toEqual(["taken", "next"]);
    expect(outbox(rig).map(({ state }) => state)).toEqual(["unknown", "sent"]);
  });
});

describe("SIGTERM", () => {
  it("puts back a message whose turn gave nothing, and it is answered after the next start [CH-CRASH-5]", async () => {
    await using rig = await startTeamchatRig({}, { agentArgs: ["--slow-start", "1500"] });
    await rig.say("SAY again");
    await until(() => rig.rows("SELECT 1 FROM turns WHERE state = 'running'").length === 1, "the turn");
    await rig.restart({}, "stop");
    await until(() => rig.slack.posted.length === 1, "the reply");
    expect(rig.slack.texts()).toEqual(["again"]);
    expect(await rig.history("teamchat-D0001")).toEqual([
      ["user", "SAY again"],
      ["assistant", "again"],
    ]);
  });
});
