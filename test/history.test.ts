import { randomUUID } from "node:crypto";
import { request as httpRequest } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Gateway, KEYS, startGateway, testConfig, until } from "./harness.ts";

const BASE = "/api/v1/agents/assistant";
const TS = Date.parse("2026-03-01T12:00:00Z");

interface Message {
  id: number;
  role: string;
  content: string;
  ts: number;
  sessionId: string;
}
interface PageBody {
  messages: Message[];
  hasMore: boolean;
  nextCursor: number | null;
  nextCursorId: number | null;
}

let gateway: Gateway;
const get = (path: string, key?: string) =>
  gateway.json("GET", `${BASE}${path}`, key === undefined ? {} : { key });
const page = async (query: string, chat = "api-seed") =>
  (await get(`/chats/${chat}/messages?${query}`)).body as unknown as PageBody;
const search = (q: string, rest = "", chat = "api-seed") =>
  get(`/chats/${chat}/messages/search?q=${encodeURIComponent(q)}${rest}`);
const post = (body: string, agent = "assistant", key: string = KEYS.admin) =>
  gateway.json("POST", `/api/v1/agents/${agent}/history/import`, {
    raw: body,
    key,
    headers: { "content-type": "application/x-ndjson" },
  });
const exported = async (query = "", agent = "assistant") =>
  (await gateway.request("GET", `/api/v1/agents/${agent}/history/export${query}`)).text();
const ndjson = (lines: readonly unknown[]) => lines.map((line) => `${JSON.stringify(line)}\n`).join("");

const session = randomUUID();
const other = randomUUID();
const TEXTS = [
  "The quick brown fox",
  "สวัสดีครับ ยินดีต้อนรับสู่กรุงเทพ",
  "東京で会議があります",
  "明天北京的天气很好",
  'a "quoted" AND (weird) * col:on -minus ^caret NEAR/2',
  "ÉCOLE élève 100%_done \\ back",
  "plain",
];
/** 140 messages, seven of each time. */
const seed = Array.from({ length: 140 }, (_, i) => ({
  chatId: "api-seed",
  sessionId: i % 2 ? other : session,
  sessionName: i % 2 ? "Other" : "Seed",
  role: i % 2 ? "assistant" : "user",
  content: `${TEXTS[i % 7]} #${i}`,
  ts: TS + Math.floor(i / 7) * 3_600_000,
}));

beforeAll(async () => {
  gateway = await startGateway();
  expect((await post(ndjson(seed))).body).toEqual({ imported: 140, skipped: 0, sessions: 2 });
});
afterAll(() => gateway[Symbol.asyncDispose]());

describe("lists", () => {
  it("chats and chat sessions come with ISO 8601 times and counts [HIST-2]", async () => {
    const { body: sent } = await gateway.send("hello", { chat_id: "lists" });
    const { body } = await get("/chats", KEYS.plain);
    expect(body.chats).toContainEqual({
      chatId: "api-seed",
      messageCount: 140,
      lastActivity: new Date(TS + 19 * 3_600_000).toISOString(),
    });
    expect(body.chats).toContainEqual({
      chatId: "api-lists",
      messageCount: 2,
      lastActivity: expect.stringMatching(/^\d{4}-.*Z$/),
    });
    const sessions = await get("/chats/api-lists/sessions");
    expect(sessions.body.sessions).toEqual([
      expect.objectContaining({
        sessionId: sent.session_id,
        messageCount: 2,
        createdAt: expect.stringMatching(/Z$/),
        lastActivity: expect.stringMatching(/Z$/),
      }),
    ]);
    expect((await get("/chats/api-unknown/sessions")).body).toEqual({ sessions: [] });
    expect((await get("/chats", KEYS.other)).status).toBe(403);
    expect((await gateway.json("GET", "/api/v1/agents/nobody/chats")).status).toBe(404);
  });

  it("all sessions of all agents are for an admin, with every field of the record [HIST-1]", async () => {
    const { body: sent } = await gateway.send("remember me", {
      chat_id: "cross",
      image_params: { size: "1024x1024" },
    });
    const { status, body } = await gateway.json("GET", "/api/v1/agents/sessions");
    expect(status).toBe(200);
    const agents = body.agents as Array<{ agentId: string; description: string; sessions: unknown[] }>;
    expect(agents.map(({ agentId, description }) => [agentId, description])).toEqual([
      ["assistant", "first"],
      ["second", "second"],
    ]);
    expect(agents[0]!.sessions).toContainEqual({
      chatId: "api-cross",
      sessionId: sent.session_id,
      source: "api",
      messageCount: 2,
      createdAt: expect.any(Number),
      lastActivity: expect.any(Number),
      lastMessage: expect.any(String),
      sessionName: "remember me",
      imageConfig: { size: "1024x1024" },
      videoConfig: null,
      model: expect.any(String),
    });
    const made = await gateway.json("POST", "/api/v1/agents/assistant/sessions", {
      body: { chat_id: "cross" },
    });
    const { body: again } = await gateway.json("GET", "/api/v1/agents/sessions");
    const nameless = (again.agents as Array<{ sessions: Array<Record<string, unknown>> }>)[0]!.sessions;
    expect(nameless).toContainEqual(
      expect.objectContaining({ sessionId: made.body.sessionId, sessionName: null }),
    );
    for (const key of [KEYS.write, KEYS.plain, KEYS.all]) {
      expect((await gateway.json("GET", "/api/v1/agents/sessions", { key })).status).toBe(403);
    }
  });
});

describe("messages", () => {
  it("limit defaults to 50, is clamped to 1000, and nonsense falls back to 50 [HIST-3]", async () => {
    for (const query of ["", "limit=abc", "limit=0", "limit=-3", "limit="]) {
      const got = await page(query);
      expect([query, got.messages.length, got.hasMore]).toEqual([query, 50, true]);
    }
    expect((await page("limit=7")).messages.length).toBe(7);
    expect(await page("limit=99999")).toMatchObject({ hasMore: false, nextCursor: null, nextCursorId: null });
    expect((await page("limit=1000")).messages.length).toBe(140);
  });

  it("bounds are numbers; an id counts only with its timestamp [HIST-4]", async () => {
    const all = (await page("limit=1000&order=asc")).messages;
    const middle = all[70]!;
    const { ts, id } = middle;
    const contents = (got: PageBody) => got.messages.map((message) => message.content);
    const names = (list: Message[]) => list.map((message) => message.content);
    expect(contents(await page(`limit=1000&before=${ts}`))).toEqual(
      names(all.filter((m) => m.ts < ts).reverse()),
    );
    expect(contents(await page(`limit=1000&order=asc&after=${ts}`))).toEqual(
      names(all.filter((m) => m.ts > ts)),
    );
    expect(contents(await page(`limit=1000&before=${ts}&before_id=${id}`))).toEqual(
      names(all.slice(0, all.indexOf(middle)).reverse()),
    );
    expect(contents(await page(`limit=1000&order=asc&after=${ts}&after_id=${id}`))).toEqual(
      names(all.slice(all.indexOf(middle) + 1)),
    );
    expect((await page(`limit=1000&before_id=3&after_id=${id}`)).messages.length).toBe(140);
    expect((await page(`limit=1000&session_id=${other}`)).messages.length).toBe(70);
    for (const name of ["before", "after", "before_id", "after_id"]) {
      const { status, body } = await get(`/chats/api-seed/messages?${name}=yesterday`);
      expect([name, status, body.code]).toEqual([name, 400, "INVALID_REQUEST"]);
    }
  });

  it("a number that no row can have and a text that no id can be find what they stand for, with every driver [HIST-4, STORE-NUMBERS-1, STORE-TEXT-1]", async () => {
    const huge = ["9223372036854775807", "9223372036854775808", "99999999999999999999999"];
    for (const number of huge) {
      expect((await page(`before=${number}&limit=1`)).messages, number).toHaveLength(1);
      expect((await page(`after=${number}`)).messages, number).toEqual([]);
      expect((await page(`before=-${number}`)).messages, number).toEqual([]);
      expect((await page(`after=-${number}&limit=1`)).messages, number).toHaveLength(1);
      const found = await search("fox", `&offset=${number}`);
      expect(found.body, number).toEqual({ messages: [], total: 20 });
    }
    for (const text of ["%00", "a%00b"]) {
      expect((await search("fox", `&session_id=${text}`)).body, text).toEqual({ messages: [], total: 0 });
      expect(await exported(`?chat_id=${text}`), text).toBe("");
    }
  });

  it("order is asc or desc in any case, desc when absent, another value is 400 [HIST-5]", async () => {
    const ascending = (await page("order=ASC&limit=3")).messages.map((message) => message.ts);
    expect(ascending[0]).toBe(TS);
    const newest = await page("limit=3");
    expect(newest.messages[0]!.ts).toBe(TS + 19 * 3_600_000);
    expect(await page("order=DeSc&limit=3")).toEqual(newest);
    expect((await get("/chats/api-seed/messages?order=sideways")).status).toBe(400);
  });

  it.each(["asc", "desc"])("the composite cursor shows each row exactly once, %s [HIST-6]", async (order) => {
    const seen: number[] = [];
    for (let query = `order=${order}&limit=9`; ; ) {
      const got = await page(query);
      seen.push(...got.messages.map((message) => message.id));
      expect(got.nextCursorId === null).toBe(got.nextCursor === null);
      if (!got.hasMore) {
        expect(got.nextCursor).toBeNull();
        break;
      }
      const side = order === "asc" ? "after" : "before";
      query = `order=${order}&limit=9&${side}=${got.nextCursor}&${side}_id=${got.nextCursorId}`;
    }
    expect(seen.length).toBe(140);
    expect(new Set(seen).size).toBe(140);
  });
});

describe("search", () => {
  it("finds substrings in any script, in any case, operators as plain text, with the exact total [HIST-7, HIST-13]", async () => {
    const queries = [
      ..."q ก 東 京 気 北京 东京 会議 กรุง สวัสดี ครับ".split(" "),
      ..."quick QUICK BROWN é É école ÉLÈVE fo x".split(" "),
      ...[
        '"',
        '"quoted"',
        "AND",
        "(weird)",
        "*",
        "col:on",
        "-minus",
        "^caret",
        "NEAR/2",
        "%",
        "%_",
        "\\",
        "o q",
        "nowhere",
      ],
    ];
    for (const q of queries) {
      const wanted = seed.filter((line) => line.content.toLowerCase().includes(q.toLowerCase()));
      const { body } = await search(q, "&limit=100");
      expect([q, body.total]).toEqual([q, wanted.length]);
      const found = body.messages as Message[];
      expect(found.map((message) => message.content).sort()).toEqual(
        wanted.map((line) => line.content).sort(),
      );
      expect(found.every((message, i) => i === 0 || found[i - 1]!.ts >= message.ts)).toBe(true);
    }
  });

  it("q is required and not empty; limit defaults to 20 and is at most 100; offset continues [HIST-8]", async () => {
    expect((await get("/chats/api-seed/messages/search")).status).toBe(400);
    expect((await search("")).status).toBe(400);
    const first = (await search("#")).body as unknown as { messages: Message[]; total: number };
    expect(first.messages.length).toBe(20);
    expect(first.total).toBe(140);
    expect(((await search("#", "&limit=5000")).body.messages as Message[]).length).toBe(100);
    const next = (await search("#", "&offset=20")).body.messages as Message[];
    const ids = [...first.messages, ...next].map((message) => message.id);
    expect(new Set(ids).size).toBe(ids.length);
    expect((await search("#", "&offset=100000")).body).toEqual({ messages: [], total: first.total });
    expect((await search("#", "", "api-unknown")).body).toEqual({ messages: [], total: 0 });
  });

  it("a message is found as soon as it is answered, and no more once its session is gone [HIST-7]", async () => {
    const { body } = await gateway.send("xylophone ระนาด", { chat_id: "fresh" });
    for (const q of ["xylophone", "ระนาด", "xy"]) {
      expect((await search(q, "", "api-fresh")).body.total).toBeGreaterThan(0);
    }
    await gateway.json("DELETE", `${BASE}/sessions/${body.session_id}?chat_id=fresh`);
    expect((await search("xylophone", "", "api-fresh")).body.total).toBe(0);
  });
});

describe("active days", () => {
  const days = (query: string) => get(`/chats/api-seed/messages/active-days?${query}`);
  const from = Date.parse("2026-03-01T00:00:00Z");
  const to = from + 2 * 86_400_000;

  it("are local days within a window of UTC; bad windows are 400, empty ones empty [HIST-9]", async () => {
    expect((await days(`from=${from}&to=${to}`)).body).toEqual({ days: ["2026-03-01", "2026-03-02"] });
    expect((await days(`from=${from}&to=${to}&tz_offset=-720`)).body).toEqual({ days: ["2026-03-01"] });
    expect((await days(`from=${from}&to=${from + 86_400_000}&tz_offset=420`)).body).toEqual({
      days: ["2026-03-01", "2026-03-02"],
    });
    expect((await days(`from=${from}&to=${to}&session_id=${randomUUID()}`)).body).toEqual({ days: [] });
    expect((await days(`from=${to}&to=${from}`)).body).toEqual({ days: [] });
    expect((await days(`from=${from}&to=${from}`)).body).toEqual({ days: [] });
    expect((await days(`from=${from}&to=${from + 366 * 86_400_000}`)).status).toBe(200);
    for (const query of [
      "",
      `from=${from}`,
      `to=${to}`,
      `from=x&to=${to}`,
      `from=${from}&to=${to}&tz_offset=east`,
      `from=${from}&to=${from + 366 * 86_400_000 + 1}`,
    ]) {
      expect([query, (await days(query)).status]).toEqual([query, 400]);
    }
  });
});

describe("retention", () => {
  it("deletes older messages at the clean-up hour of the time zone that applies [HIST-10]", async () => {
    const now = Date.now();
    const days = (count: number) => now - count * 86_400_000;
    const line = (ts: number, chatId: string) => ({ ...seed[0], chatId, sessionId: randomUUID(), ts });
    const lines = ndjson([line(days(20), "api-kept"), line(days(20), "api-old"), line(days(1), "api-old")]);
    const first = await startGateway();
    for (const agent of ["assistant", "second"]) {
      const path = `/api/v1/agents/${agent}/history/import`;
      expect((await first.request("POST", path, { raw: lines })).status).toBe(200);
    }
    await first.stop();
    const hour = new Intl.DateTimeFormat("en", {
      timeZone: "Asia/Kolkata",
      hour: "2-digit",
      hourCycle: "h23",
    });
    const history = {
      retentionDays: 10,
      cleanupHour: Number(hour.format(Date.now())),
      cleanupTimezone: "No/Where",
    };
    const config = testConfig({ gateway: { timezone: "Asia/Kolkata", history } }) as { agents: object[] };
    Object.assign(config.agents[1]!, { history: { retentionDays: null } });
    await using second = await startGateway({ home: first.home, config });
    const counts = async (agent: string) => {
      const { body } = await second.json("GET", `/api/v1/agents/${agent}/chats`);
      return (body.chats as Array<{ messageCount: number }>).map((chat) => chat.messageCount).sort();
    };
    await until(async () => (await counts("assistant")).join() === "0,1", "the clean-up");
    expect(await counts("second")).toEqual([1, 2]);
  });
});

describe("moving data", () => {
  it("an export is NDJSON, oldest first, of an agent or one chat [HIST-11]", async () => {
    const response = await gateway.request("GET", `${BASE}/history/export?chat_id=api-seed`);
    expect(response.headers.get("content-type")).toMatch(/ndjson/);
    const lines = (await response.text())
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as unknown);
    expect(lines).toEqual(seed.map((line) => expect.objectContaining(line)));
    const all = (await exported())
      .trimEnd()
      .split("\n")
      .map((line) => (JSON.parse(line) as { ts: number }).ts);
    expect(all.length).toBeGreaterThanOrEqual(140);
    expect(all).toEqual(all.toSorted((a, b) => a - b));
    expect((await gateway.request("GET", `${BASE}/history/export`, { key: KEYS.write })).status).toBe(403);
  });

  it("an import can be repeated, and its sessions go on like any other [HIST-12]", async () => {
    expect((await post(ndjson(seed))).body).toEqual({ imported: 0, skipped: 140, sessions: 2 });
    const { status } = await gateway.send("go on", { chat_id: "seed", session_id: session });
    expect(status).toBe(200);
    const info = await get(`/sessions/${session}/info?chat_id=seed`);
    expect(info.body).toMatchObject({ sessionName: "Seed", messageCount: 72 });
    expect((await post(ndjson(seed), "second")).body).toEqual({ imported: 140, skipped: 0, sessions: 2 });
  });

  it("a bad line is 400 naming the line, and nothing of the request stays [HIST-12]", async () => {
    const good = ndjson(seed.map((line) => ({ ...line, chatId: "api-bad", sessionId: randomUUID() })));
    const { status, body } = await post(`${good}{"chatId":"api-bad"}\n${good}`);
    expect([status, body.code]).toEqual([400, "INVALID_REQUEST"]);
    expect(body.error).toContain("141");
    expect((await page("", "api-bad")).messages).toEqual([]);
    expect((await post(ndjson(seed), "assistant", KEYS.write)).status).toBe(403);
  });

  it("a sender that disconnects halfway leaves nothing behind and blocks no one [HIST-12]", async () => {
    const line = ndjson([{ ...seed[0], chatId: "api-gone", sessionId: randomUUID() }]);
    await new Promise<void>((resolve) => {
      const req = httpRequest(`${gateway.url}${BASE}/history/import`, {
        method: "POST",
        headers: {
          "x-api-key": KEYS.admin,
          "content-type": "application/x-ndjson",
          "content-length": 1_000_000,
        },
      });
      req.once("error", () => resolve());
      req.write(line.repeat(1000), () => req.destroy());
      req.once("close", () => resolve());
    });
    for (;;) {
      const { status } = await post(ndjson(seed));
      if (status === 200) break;
      expect(status).toBe(409);
    }
    expect((await page("", "api-gone")).messages).toEqual([]);
  });
});
