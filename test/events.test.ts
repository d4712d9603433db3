import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runCli } from "./fixtures/cli.ts";
import {
  type Frame,
  type Gateway,
  KEYS,
  readFrames,
  root,
  startGateway,
  testConfig,
  until,
} from "./harness.ts";

interface Event {
  id: string;
  type: string;
  timestamp: string;
  data: Record<string, unknown>;
}
interface Page {
  events: Event[];
  hasMore: boolean;
  nextCursor: number;
}

const PATH = "/api/v1/events";

const list = async (gateway: Gateway, query = "", key: string = KEYS.admin): Promise<Page> => {
  const { status, body } = await gateway.json("GET", `${PATH}?stream=false${query}`, { key });
  expect(status).toBe(200);
  return body as unknown as Page;
};

/** A reader of the feed, which collects what it gets. */
async function follow(gateway: Gateway, query = "", options: { key?: string; lastEventId?: number } = {}) {
  const leave = new AbortController();
  const response = await gateway.request("GET", `${PATH}${query}`, {
    key: options.key ?? KEYS.admin,
    signal: leave.signal,
    ...(options.lastEventId !== undefined && { headers: { "last-event-id": String(options.lastEventId) } }),
  });
  const frames: Frame[] = [];
  const ended = (async () => {
    try {
      for await (const frame of readFrames(response)) frames.push(frame);
    } catch {
      // The test leaves.
    }
  })();
  return {
    status: response.status,
    type: response.headers.get("content-type"),
    frames,
    ended,
    types: () => frames.map(({ data }) => data.type),
    gets: (type: string, count = 1) =>
      until(() => frames.filter(({ data }) => data.type === type).length >= count, `${count} ${type}`),
    [Symbol.dispose]: () => leave.abort(),
  };
}

let made = 0;
/** Creates an agent, and so an event of it. */
async function makeAgent(gateway: Gateway): Promise<string> {
  const id = `made${made++}`;
  const { status } = await gateway.json("POST", "/api/v1/agents", { body: { id, description: "d" } });
  expect(status).toBe(201);
  return id;
}
const describeAgent = (gateway: Gateway, id: string, description: string) =>
  gateway.json("PATCH", `/api/v1/agents/${id}`, { body: { description } });

describe("the feed", () => {
  let gateway: Gateway;
  beforeAll(async () => {
    gateway = await startGateway({ gateway: { turns: { keepaliveMs: 200 } } });
    await until(async () => (await list(gateway)).events.length > 0, "the first event");
  });
  afterAll(() => gateway[Symbol.asyncDispose]());

  it("tells that the gateway started, and what becomes of agents, without their settings' values [EVENT-5]", async () => {
    const { nextCursor } = await list(gateway);
    const id = await makeAgent(gateway);
    await describeAgent(gateway, id, "changed to this");
    await gateway.json("DELETE", `/api/v1/agents/${id}`);
    const page = await until(async () => {
      const found = await list(gateway, `&after=${nextCursor}&types=agent.*`);
      return found.events.length >= 3 ? found : undefined;
    }, "three events");
    expect(page.events.map(({ type, data }) => [type, data])).toEqual([
      ["agent.created", { agentId: id }],
      ["agent.updated", { agentId: id, settings: ["description"] }],
      ["agent.deleted", { agentId: id }],
    ]);
    expect((await list(gateway, "&after=0")).events[0]).toMatchObject({
      id: "evt_1",
      type: "gateway.started",
    });
    for (const { timestamp } of page.events) {
      expect(new Date(timestamp).toISOString()).toBe(timestamp);
      expect(Math.abs(Date.parse(timestamp) - Date.now())).toBeLessThan(60_000);
    }
  });

  it("lists in pages, forward by nextCursor, and the latest without a cursor [EVENT-5]", async () => {
    const { nextCursor: from } = await list(gateway);
    for (let n = 0; n < 5; n++) await describeAgent(gateway, "second", `page ${n} of ${from}`);
    await until(async () => (await list(gateway, `&after=${from}`)).events.length >= 5, "five events");
    const first = await list(gateway, `&after=${from}&limit=2`);
    expect(first).toMatchObject({ hasMore: true, nextCursor: from + 2 });
    const second = await list(gateway, `&after=${first.nextCursor}&limit=2`);
    const third = await list(gateway, `&after=${second.nextCursor}&limit=2`);
    expect([second.hasMore, third.hasMore, third.nextCursor]).toEqual([true, false, from + 5]);
    const ids = [first, second, third].flatMap(({ events }) => events.map(({ id }) => id));
    expect(ids).toEqual([1, 2, 3, 4, 5].map((n) => `evt_${from + n}`));
    const latest = await list(gateway, "&limit=2");
    expect(latest).toMatchObject({ hasMore: false, nextCursor: from + 5 });
    expect(latest.events.map(({ id }) => id)).toEqual([`evt_${from + 4}`, `evt_${from + 5}`]);
    const none = await list(gateway, `&after=${from}&types=cron.finished`);
    expect(none).toEqual({ events: [], hasMore: false, nextCursor: from + 5 });
    expect((await list(gateway, "&limit=9999999999999999999999")).events.length).toBeLessThanOrEqual(200);
  });

  it("replays after `after`, prefers Last-Event-ID, then follows live with keep-alive comments [EVENT-6]", async () => {
    const { nextCursor: from } = await list(gateway);
    await describeAgent(gateway, "second", `replay 1 of ${from}`);
    await describeAgent(gateway, "second", `replay 2 of ${from}`);
    using replay = await follow(gateway, `?after=${from}`);
    expect([replay.status, replay.type]).toEqual([200, "text/event-stream; charset=utf-8"]);
    await replay.gets("agent.updated", 2);
    using resumed = await follow(gateway, `?after=${from}`, { lastEventId: from + 1 });
    await resumed.gets("agent.updated");
    using live = await follow(gateway);
    await describeAgent(gateway, "second", `live of ${from}`);
    await Promise.all([
      replay.gets("agent.updated", 3),
      resumed.gets("agent.updated", 2),
      live.gets("agent.updated"),
    ]);
    expect(replay.frames.map(({ id }) => id)).toEqual([from + 1, from + 2, from + 3].map(String));
    expect(resumed.frames.map(({ id }) => id)).toEqual([from + 2, from + 3].map(String));
    expect(live.frames.map(({ id, data }) => [id, data.id])).toEqual([[`${from + 3}`, `evt_${from + 3}`]]);

    const raw = await gateway.request("GET", PATH, { key: KEYS.plain });
    const reader = raw.body!.getReader();
    let text = "";
    while (!text.includes(": keepalive\n\n")) text += new TextDecoder().decode((await reader.read()).value);
    await reader.cancel();
  });

  it("refuses cursors that are ahead and what is no cursor, type, limit or agent [EVENT-4, EVENT-7]", async () => {
    const { nextCursor } = await list(gateway);
    const refused: [query: string, status: number, code: string, key?: string][] = [
      [`after=${nextCursor + 1}`, 410, "CURSOR_AHEAD"],
      [`after=${nextCursor + 1}&stream=false`, 410, "CURSOR_AHEAD"],
      ["after=x", 400, "INVALID_REQUEST"],
      ["after=-1", 400, "INVALID_REQUEST"],
      ["after=1.5", 400, "INVALID_REQUEST"],
      ["after=", 400, "INVALID_REQUEST"],
      ["types=turn.*,nonsense", 400, "INVALID_REQUEST"],
      ["types=", 400, "INVALID_REQUEST"],
      ["types=turn.", 400, "INVALID_REQUEST"],
      ["types=.*", 400, "INVALID_REQUEST"],
      [`types=${"turn.*,".repeat(400)}`, 400, "INVALID_REQUEST"],
      ["include=secrets", 400, "INVALID_REQUEST"],
      ["stream=perhaps", 400, "INVALID_REQUEST"],
      ["stream=false&limit=0", 400, "INVALID_REQUEST"],
      ["stream=false&limit=some", 400, "INVALID_REQUEST"],
      ["agent=nobody", 404, "AGENT_NOT_FOUND"],
      ["agent=second", 403, "FORBIDDEN", KEYS.plain],
    ];
    for (const [query, status, code, key = KEYS.admin] of refused) {
      const answer = await gateway.json("GET", `${PATH}?${query}`, { key });
      expect([query.slice(0, 40), answer.status, answer.body.code]).toEqual([
        query.slice(0, 40),
        status,
        code,
      ]);
    }
    const header = await gateway.json("GET", PATH, { headers: { "last-event-id": "x" } });
    expect([header.status, header.body.code]).toEqual([400, "INVALID_REQUEST"]);
    for (const types of ["*", "turn.*", "turn.started,agent.*", "task.completed", "voice.*"]) {
      expect((await list(gateway, `&types=${types}`)).events).toBeInstanceOf(Array);
    }
  });

  it("shows each key its agents, and what belongs to none only to admins [EVENT-8]", async () => {
    const { nextCursor: from } = await list(gateway);
    await describeAgent(gateway, "assistant", `reach of ${from}`);
    await describeAgent(gateway, "second", `reach of ${from}`);
    await writeFile(
      join(gateway.home, "config.json"),
      `${JSON.stringify(await gateway.config(), null, 2)}\n\n`,
    );
    await until(
      async () =>
        (await list(gateway, `&after=${from}`)).events.some(({ type }) => type === "config.reloaded"),
      "the reload",
    );
    const seen = async (key: string, query = "") =>
      (await list(gateway, `&after=${from}${query}`, key)).events.map(({ type, data }) =>
        [type, data.agentId].filter(Boolean).join(" "),
      );
    const assistant = "agent.updated assistant";
    const second = "agent.updated second";
    expect(await seen(KEYS.admin)).toEqual([assistant, second, "config.reloaded"]);
    expect(await seen(KEYS.all)).toEqual([assistant, second]);
    expect(await seen(KEYS.plain)).toEqual([assistant]);
    expect(await seen(KEYS.write)).toEqual([assistant]);
    expect(await seen(KEYS.other)).toEqual([second]);
    expect(await seen(KEYS.admin, "&agent=second")).toEqual([second]);
    expect(await seen(KEYS.admin, "&types=config.*")).toEqual(["config.reloaded"]);
    using stream = await follow(gateway, `?after=${from}`, { key: KEYS.other });
    await stream.gets("agent.updated");
    expect(stream.types()).toEqual(["agent.updated"]);
  });

  it("tells of a configuration that is refused, and in which nothing of it stands [EVENT-8]", async () => {
    const file = join(gateway.home, "config.json");
    const good = await readFile(file, "utf8");
    using admin = await follow(gateway, "?types=config.*");
    await writeFile(file, "{ broken secret");
    await admin.gets("config.refused");
    await writeFile(file, good);
    await admin.gets("config.reloaded");
    expect(admin.frames[0]!.data).toMatchObject({ data: { problems: 1 } });
    expect(JSON.stringify(admin.frames)).not.toContain("secret");
  });

  it("has 20 places for each key's streams, which become free again [EVENT-9]", async () => {
    const open = await Promise.all(
      Array.from({ length: 20 }, () => follow(gateway, "", { key: KEYS.write })),
    );
    const refused = await gateway.json("GET", PATH, { key: KEYS.write });
    expect([refused.status, refused.body.code]).toEqual([429, "RATE_LIMITED"]);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect((await gateway.json("GET", `${PATH}?stream=false`, { key: KEYS.write })).status).toBe(200);
    using other = await follow(gateway, "", { key: KEYS.plain });
    expect(other.status).toBe(200);
    for (const stream of open) stream[Symbol.dispose]();
    await until(async () => {
      using again = await follow(gateway, "", { key: KEYS.write });
      return again.status === 200;
    }, "a free place");
  });

  it("is on the command line [EVENT-6]", async () => {
    const env = { GATEWAY_URL: gateway.url, GATEWAY_API_KEY: KEYS.admin };
    const { nextCursor } = await list(gateway);
    await describeAgent(gateway, "second", `cli of ${nextCursor}`);
    const shown = await until(async () => {
      const listed = await runCli(["events", "list", "--after", `${nextCursor}`, "--json"], { env });
      const page = JSON.parse(listed.stdout) as Page;
      return page.events.length > 0 ? page : undefined;
    }, "the event");
    expect(shown.events[0]).toMatchObject({ type: "agent.updated", data: { agentId: "second" } });
    const followed = await runCli(
      ["events", "follow", "--after", `${nextCursor}`, "--types", "agent.*", "--json"],
      {
        env,
        onOutput: (child, stdout) => stdout.includes("\n") && child.kill("SIGINT"),
      },
    );
    expect(JSON.parse(followed.stdout.split("\n")[0]!)).toEqual(shown.events[0]);
    const wrong = await runCli(["events", "follow", "--types", "nonsense"], { env });
    expect([wrong.code, wrong.stdout]).toEqual([1, ""]);
    expect(wrong.stderr).toContain("(INVALID_REQUEST)");
  });
});

describe("a stream of the feed", () => {
  it("ends when its key is revoked, and shows no agent that its key has lost [EVENT-8, EVENT-9]", async () => {
    await using gateway = await startGateway();
    const config = testConfig() as { gateway: { api: { keys: Array<{ key: string; agents: unknown }> } } };
    const { keys } = config.gateway.api;
    using narrowed = await follow(gateway, "", { key: KEYS.all });
    using bound = await follow(gateway, "?agent=second", { key: KEYS.other });
    using revoked = await follow(gateway, "", { key: KEYS.plain });
    keys.find(({ key }) => key === KEYS.all)!.agents = ["second"];
    keys.find(({ key }) => key === KEYS.other)!.agents = ["assistant"];
    keys.splice(
      keys.findIndex(({ key }) => key === KEYS.plain),
      1,
    );
    await gateway.writeConfig(config);
    await revoked.ended;
    expect(revoked.frames.at(-2)?.data).toMatchObject({ type: "error", code: "API_KEY_INVALID" });
    await describeAgent(gateway, "assistant", "after the change");
    await describeAgent(gateway, "second", "after the change");
    await narrowed.gets("agent.updated");
    expect(narrowed.frames.map(({ data }) => (data.data as { agentId: string }).agentId)).toEqual(["second"]);
    await bound.ended;
    expect(bound.frames.map(({ data }) => [data.type, data.code])).toEqual([
      ["error", "FORBIDDEN"],
      ["[DONE]", undefined],
    ]);
  });

  it("tells that the gateway stops, ends, and holds up nothing; the next start goes on from there [EVENT-3, EVENT-6]", async () => {
    await using gateway = await startGateway();
    using stream = await follow(gateway, "?after=0");
    await stream.gets("gateway.started");
    const begun = Date.now();
    expect(await gateway.stop()).toBe(0);
    expect(Date.now() - begun).toBeLessThan(5_000);
    await stream.ended;
    expect(stream.types()).toEqual(["gateway.started", "gateway.stopping"]);
    const next = await startGateway({ home: gateway.home });
    try {
      using again = await follow(next, "?after=0");
      await again.gets("gateway.started", 2);
      expect(again.types()).toEqual(["gateway.started", "gateway.stopping", "gateway.started"]);
      expect(again.frames.map(({ id }) => id)).toEqual(["1", "2", "3"]);
    } finally {
      await next.stop();
    }
  });
});

describe("turns, messages and sessions in the feed", () => {
  it("are told in order, with texts only where they are asked for and still there [EVENT-11, EVENT-12]", async () => {
    await using gateway = await startGateway();
    const { headers, body } = await gateway.send("a secret question", { chat_id: "me" });
    const requestId = headers.get("x-request-id");
    const sessionId = body.session_id as string;
    const place = { agentId: "assistant", chatId: "api-me", sessionId };
    const all = async (query = "") =>
      (await list(gateway, `&after=0&types=turn.*,message.*,session.*${query}`)).events;
    await until(async () => (await all()).length === 4, "four events");
    expect((await all()).map(({ type, data }) => [type, data])).toEqual([
      ["session.created", place],
      ["message.received", { ...place, requestId }],
      ["turn.started", { ...place, requestId, kind: expect.any(String) }],
      [
        "turn.finished",
        { ...place, requestId, kind: expect.any(String), status: "done", durationMs: expect.any(Number) },
      ],
    ]);
    const texts = async () => (await all("&include=text")).map(({ data }) => data.text);
    expect(await texts()).toEqual([undefined, "a secret question", undefined, body.response]);
    const path = `/api/v1/agents/assistant/sessions/${sessionId}`;
    expect((await gateway.json("POST", `${path}/restart`, { body: { chat_id: "me" } })).status).toBe(200);
    expect((await gateway.json("DELETE", `${path}?chat_id=me`)).status).toBe(204);
    await until(async () => (await all()).length === 6, "six events");
    expect((await all()).slice(4).map(({ type, data }) => [type, data])).toEqual([
      ["session.restarted", place],
      ["session.deleted", place],
    ]);
    expect(await texts()).toEqual(Array(6).fill(undefined));
  });

  it("are neither lost nor told twice when the gateway is killed between a unit and its numbers [EVENT-3, EVENT-12]", async () => {
    const steps = ["after-user-row", "first-delta", "after-assistant-row"];
    let gateway = await startGateway();
    try {
      for (const [round, step] of [...steps, ...steps].entries()) {
        await gateway.kill();
        gateway = await startGateway({
          home: gateway.home,
          nodeArgs: ["--import", join(root, "test/fixtures/kill-at.mjs")],
          env: { KILL_AT: step },
        });
        await gateway.send(`round ${round}`, { chat_id: "crash" }).catch(() => {});
      }
      await gateway.kill();
      gateway = await startGateway({ home: gateway.home });
      await gateway.send("the last", { chat_id: "crash" });
      const turns = await until(async () => {
        const { events } = await list(gateway, "&after=0&limit=200&include=text&types=turn.*,message.*");
        return events.some(({ type, data }) => type === "message.received" && data.text === "the last") &&
          events.at(-1)?.type === "turn.finished"
          ? events
          : undefined;
      }, "the last turn");
      const ids = turns.map(({ id }) => Number(id.slice(4)));
      expect(ids).toEqual([...new Set(ids)].toSorted((a, b) => a - b));
      const of = (type: string) => turns.filter((event) => event.type === type);
      const texts = [...steps, ...steps].map((_, round) => `round ${round}`);
      expect(of("message.received").map(({ data }) => data.text)).toEqual([...texts, "the last"]);
      const requests = (type: string) =>
        of(type)
          .map(({ data }) => data.requestId)
          .toSorted();
      expect(requests("turn.started")).toHaveLength(steps.length * 2 + 1);
      expect(requests("turn.finished")).toEqual(requests("turn.started"));
    } finally {
      await gateway[Symbol.asyncDispose]();
    }
  });
});
