import { readdir, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { kinds, newId, type Store } from "./store.ts";

const never = new AbortController().signal;
const agent = "a";

interface Line {
  chatId: string;
  sessionId: string;
  sessionName?: string | null;
  role: string;
  content: string;
  ts: number;
}
const ndjson = (lines: readonly unknown[]) => lines.map((line) => `${JSON.stringify(line)}\n`).join("");

describe.each(kinds)("moving history in $kind", ({ kind, open }) => {
  let store: Store;
  beforeEach(async () => {
    store = await open();
  });
  afterEach(() => store.close());

  const send = (body: string | Buffer, to = agent) =>
    store.history.import(to, Readable.from([body], { objectMode: false }), { signal: never });
  const read = async (from = agent, chat?: string) => text(await store.history.export(from, chat, never));
  const lines = (count: number, of: Partial<Line> = {}): Line[] => {
    const sessions = [newId(), newId(), newId()];
    return Array.from({ length: count }, (_, i) => ({
      chatId: `api-${i % 2}`,
      sessionId: sessions[i % 2]!,
      sessionName: `Name ${i % 2}`,
      role: i % 3 ? "assistant" : "user",
      content: `message ${i} ข้อความ 東京 "quoted"\n${i % 7}`,
      ts: 1_700_000_000_000 + Math.floor(i / 5),
      ...of,
    }));
  };

  it("an export that is imported into an empty store gives the same export [STORE-SAME-1]", async () => {
    const given = lines(5000);
    expect(await send(ndjson(given))).toEqual({ imported: 5000, skipped: 0, sessions: 2 });
    const exported = await read();
    const parsed = exported
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Line);
    expect(parsed.length).toBe(5000);
    expect(parsed.every((line, i) => i === 0 || parsed[i - 1]!.ts <= line.ts)).toBe(true);
    const key = (line: Line) =>
      JSON.stringify([line.chatId, line.sessionId, line.sessionName, line.role, line.content, line.ts]);
    expect(parsed.map(key).sort()).toEqual(given.map(key).sort());
    const other = await open();
    await other.history.import(agent, Readable.from([exported], { objectMode: false }), { signal: never });
    const again = await text(await other.history.export(agent, undefined, never));
    await other.close();
    expect(again).toBe(exported);
  });

  it("can be repeated: what is present is skipped, what is missing is added", async () => {
    const given = lines(600);
    await send(ndjson(given.slice(0, 400)));
    expect(await send(ndjson(given))).toEqual({ imported: 200, skipped: 400, sessions: 2 });
    expect(await send(ndjson(given))).toEqual({ imported: 0, skipped: 600, sessions: 2 });
    expect((await store.history.chats(agent)).map((chat) => chat.messageCount)).toEqual([300, 300]);
  });

  it("a line that stands twice in one import is stored once", async () => {
    const [line] = lines(1);
    expect(await send(ndjson([line, line, { ...line, role: "assistant" }]))).toMatchObject({
      imported: 2,
      skipped: 1,
    });
  });

  it("restores counters, times, names and previews, and search finds everything at once", async () => {
    await send(ndjson(lines(1000)));
    const sessions = await store.history.sessions(agent);
    expect(sessions.map((s) => [s.chatId, s.sessionName, s.messageCount, s.source])).toEqual([
      ["api-1", "Name 1", 500, "api"],
      ["api-0", "Name 0", 500, "api"],
    ]);
    expect(sessions[0]).toMatchObject({
      createdAt: 1_700_000_000_000,
      lastActivity: 1_700_000_000_199,
      lastMessage: expect.stringContaining("message 999"),
    });
    for (const q of ["ข้อ", "東京", "ก", "message 998"]) {
      const wanted = lines(1000).filter((line) => line.chatId === "api-0" && line.content.includes(q)).length;
      const found = await store.history.search({ agentId: agent, chatId: "api-0", q, limit: 5, offset: 0 });
      expect(found.total).toBe(wanted);
    }
  });

  it("a bad line stops it, is named, and nothing of the request stays", async () => {
    const good = ndjson(lines(3000));
    const bad = {
      "not json": `${good}{"chatId":\n`,
      "wrong role": `${good}${ndjson([{ ...lines(1)[0], role: "system" }])}`,
      "not UTF-8": Buffer.concat([Buffer.from(good), Buffer.from([0x22, 0xff, 0x22, 0x0a])]),
      "chat id that is a path": `${good}${ndjson([{ ...lines(1)[0], chatId: "../x" }])}`,
      "ts that is no date": `${good}${ndjson([{ ...lines(1)[0], ts: 1e17 }])}`,
    };
    for (const body of Object.values(bad)) {
      await expect(send(body)).rejects.toMatchObject({
        code: "INVALID_REQUEST",
        message: expect.stringContaining("Line 3001"),
      });
      expect(await store.history.chats(agent)).toEqual([]);
      expect(await readdir(store.spoolDir)).toEqual([]);
    }
  });

  it("blank lines, CRLF, a byte-order mark and a missing last newline are fine", async () => {
    const [a, b] = lines(2);
    const body = `\ufeff${JSON.stringify(a)}\r\n\r\n\n${JSON.stringify(b)}`;
    expect(await send(body)).toMatchObject({ imported: 2 });
    expect(await send("")).toEqual({ imported: 0, skipped: 0, sessions: 0 });
  });

  it("lines that span chunks of the file are whole", async () => {
    const given = lines(3).map((line, i) => ({ ...line, content: "日本🎉".repeat(400_000 + i) }));
    expect(await send(ndjson(given))).toMatchObject({ imported: 3 });
    const { messages } = await store.history.page({
      agentId: agent,
      chatId: "api-1",
      limit: 1,
      order: "desc",
    });
    expect(messages[0]!.content).toBe(given[1]!.content);
  });

  it("a session id that belongs to another agent or chat, or is no UUID, becomes a new one, the same each time", async () => {
    const given = lines(10);
    await send(ndjson(given));
    expect(await send(ndjson(given), "b")).toEqual({ imported: 10, skipped: 0, sessions: 2 });
    expect(await send(ndjson(given), "b")).toEqual({ imported: 0, skipped: 10, sessions: 2 });
    const odd = lines(4, { sessionId: "Ünknown session/../", chatId: "api-x", sessionName: null });
    expect(await send(ndjson(odd))).toMatchObject({ imported: 4, sessions: 1 });
    expect(await send(ndjson(odd))).toMatchObject({ skipped: 4 });
    const ids = (await store.history.sessions("b"))
      .concat(await store.history.sessions(agent))
      .map((s) => s.sessionId);
    expect(new Set(ids).size).toBe(5);
    for (const id of ids)
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/);
  });

  it("names of an import are one harmless line [IMPORT-NAMES-1]", async () => {
    const named = lines(1, { sessionName: "a\u001b[2Jb\nc\u202ed", chatId: "api-names" });
    const given = named.map((line) => ({ ...line, role: "user", senderName: "Ann\u001b]0;x\u0007\r\nBob" }));
    expect(await send(ndjson(given), "b")).toMatchObject({ imported: 1 });
    const session = (await store.history.sessions("b")).find(({ chatId }) => chatId === "api-names");
    expect(session?.sessionName).toBe("a [2Jb c d");
    const out = await text(await store.history.export("b", "api-names", never));
    expect(JSON.parse(out.trim())).toMatchObject({ senderName: "Ann ]0;x Bob" });
    const flag = lines(1, { sessionId: "--flag", chatId: "api-flag" });
    expect(await send(ndjson(flag), "b")).toMatchObject({ imported: 1 });
    expect((await store.history.sessions("b")).map(({ sessionId }) => sessionId)).not.toContain("--flag");
  });

  it("very many messages with one and the same time stay quick to import", async () => {
    const given = lines(20_000, { ts: 5, chatId: "api-0", sessionId: newId() });
    const start = performance.now();
    expect(await send(ndjson(given))).toMatchObject({ imported: 20_000 });
    expect(performance.now() - start).toBeLessThan(15_000);
  });

  it("one import at a time for each agent", async () => {
    const body = ndjson(lines(2000));
    const first = send(body);
    await expect(send(body)).rejects.toMatchObject({ code: "CONFLICT" });
    await expect(send(body, "b")).resolves.toMatchObject({ imported: 2000 });
    await expect(first).resolves.toMatchObject({ imported: 2000 });
  });

  it("other writes go on while an import runs", async () => {
    const running = send(ndjson(lines(20_000)));
    let done = false;
    void running.then(() => {
      done = true;
    });
    let writes = 0;
    while (!done) {
      await store.add("c", "api-turns", [{ session: "s", content: "during the import", ts: Date.now() }]);
      writes++;
    }
    await running;
    expect(writes).toBeGreaterThan(10);
    const found = await store.history.search({
      agentId: "c",
      chatId: "api-turns",
      q: "during",
      limit: 1,
      offset: 0,
    });
    expect(found.total).toBe(writes);
  });

  it("a body that breaks off leaves nothing", async () => {
    const broken = new Readable({ read() {} });
    broken.push(ndjson(lines(10)));
    const running = store.history.import(agent, broken, { signal: never });
    broken.destroy(Object.assign(new Error("aborted"), { code: "ECONNRESET" }));
    await expect(running).rejects.toMatchObject({ code: "INVALID_REQUEST" });
    expect(await store.history.chats(agent)).toEqual([]);
    expect(await readdir(store.spoolDir)).toEqual([]);
  });

  it("an import that the end of the process cut off shows nothing, and is finished at the next start [IMPORT-WHOLE-1]", async () => {
    const given = lines(12_000);
    const body = ndjson(given);
    const running = send(body).catch((error: unknown) => error);
    const stored = async () => (await store.read<{ n: number }>("SELECT count(*) AS n FROM messages"))[0]!.n;
    while ((await stored()) < 2000) await new Promise((resolve) => setImmediate(resolve));
    await store.close(true);
    expect(await running).toBeInstanceOf(Error);
    store = await store.reopen();
    expect(await stored()).toBeLessThan(12_000);
    // What is staged is nobody's yet.
    expect(await store.history.chats(agent)).toEqual([]);
    expect(await store.history.sessions(agent)).toEqual([]);
    await writeFile(join(store.spoolDir, "left-over.ndjson"), "x");
    store.history.start();
    while ((await store.rows.imports.unfinished()).length > 0)
      await new Promise((resolve) => setImmediate(resolve));
    // It is over once its file is gone.
    while ((await readdir(store.spoolDir)).length > 0) await new Promise((resolve) => setImmediate(resolve));
    expect(await stored()).toBe(12_000);
    expect((await store.history.chats(agent)).map((chat) => chat.messageCount)).toEqual([6_000, 6_000]);
    // It is over a moment after its last row: then another may begin.
    let again: unknown;
    while (again === undefined) {
      await new Promise((resolve) => setImmediate(resolve));
      again = await send(body).catch((error: { code?: string }) => {
        if (error.code !== "CONFLICT") throw error;
      });
    }
    expect(again).toMatchObject({ imported: 0, skipped: 12_000 });
    await expect(stat(join(store.spoolDir, "left-over.ndjson"))).rejects.toThrow();
  });

  it("imports that are finished after a start keep others away from each of their agents until then [IMPORT-WHOLE-3]", async () => {
    const bodies = { a: ndjson(lines(6000)), b: ndjson(lines(6000)) };
    const running = [send(bodies.a, "a"), send(bodies.b, "b")].map((one) =>
      one.catch((error: unknown) => error),
    );
    const begun = async () => (await store.rows.imports.unfinished()).length === 2;
    while (!(await begun())) await new Promise((resolve) => setImmediate(resolve));
    await store.close(true);
    await Promise.all(running);
    store = await store.reopen();
    store.history.start();
    await expect(send(bodies.b, "b")).rejects.toMatchObject({ code: "CONFLICT" });
    await expect(send(bodies.a, "a")).rejects.toMatchObject({ code: "CONFLICT" });
    while ((await readdir(store.spoolDir)).length > 0) await new Promise((resolve) => setImmediate(resolve));
    expect(await store.read("SELECT count(*) AS n FROM messages")).toEqual([{ n: 12_000 }]);
  });

  it("joins chats and sessions that exist: each message is found once, in its place [IMPORT-WHOLE-1]", async () => {
    const given = lines(900);
    await send(ndjson(given.filter((_, i) => i % 3 === 0)));
    await store.indexed();
    await send(ndjson([...given, { ...given[0], sessionId: newId(), content: "another session" }]));
    const found = async (q: string) =>
      (await store.history.search({ agentId: agent, chatId: "api-0", q, limit: 9, offset: 0 })).total;
    for (const again of [false, true]) {
      expect(await found("message")).toBe(450);
      expect(await found("東京")).toBe(450);
      expect(await found("another session")).toBe(1);
      if (!again) await store.indexed();
    }
    expect((await store.history.chats(agent)).map((chat) => chat.messageCount).sort()).toEqual([450, 451]);
    expect((await store.history.sessions(agent)).map(({ messageCount }) => messageCount).sort()).toEqual([
      1, 450, 450,
    ]);
    const order = (await read(agent, "api-0"))
      .trimEnd()
      .split("\n")
      .map((line) => (JSON.parse(line) as Line).ts);
    expect(order).toEqual([...order].sort((a, b) => a - b));
    expect(await store.read("SELECT 1 FROM chats WHERE agent_id LIKE 'import%'")).toEqual([]);
  });

  it("an import that fails is removed whole [IMPORT-WHOLE-2]", async () => {
    await send(ndjson(lines(10)));
    const before = await read();
    const given = ndjson([...lines(3000), ...lines(3000, { chatId: "api-new" })]);
    const running = send(given).catch((error: unknown) => error);
    const staged = async () => (await store.read("SELECT 1 FROM messages LIMIT 1 OFFSET 1000")).length > 0;
    while (!(await staged())) await new Promise((resolve) => setImmediate(resolve));
    // The file is all that the import goes by: a line of it that breaks after the check ends it.
    const [name] = await readdir(store.spoolDir);
    await truncate(join(store.spoolDir, name!), Buffer.byteLength(given) - 40);
    expect(await running).toBeInstanceOf(Error);
    expect(await read()).toBe(before);
    expect(await store.read("SELECT count(*) AS n FROM messages")).toEqual([{ n: 10 }]);
    expect(await store.read("SELECT 1 FROM chats WHERE agent_id LIKE 'import%'")).toEqual([]);
  });

  it("an import that failed and could not be removed at once is never shown [IMPORT-WHOLE-2]", async () => {
    const run = (sql: string) => store.write({ sql, params: [], silent: true });
    if (kind === "Postgres") {
      await run(`CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql
        AS $$ BEGIN RAISE EXCEPTION 'no room' USING ERRCODE = '53100'; END $$`);
    }
    const full = (name: string, event: string, when: string) =>
      run(
        kind === "Postgres"
          ? `CREATE TRIGGER ${name} BEFORE ${event} ON messages FOR EACH ROW WHEN (${when}) EXECUTE FUNCTION full_disk()`
          : `CREATE TRIGGER ${name} BEFORE ${event} ON messages WHEN ${when}
             BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END`,
      );
    await full("no_room", "INSERT", "new.content = 'the last'");
    await full("no_removal", "DELETE", "old.id > 0");
    const body = ndjson([...lines(2500), ...lines(1, { content: "the last" })]);
    await expect(send(body)).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect(await readdir(store.spoolDir)).toEqual([]);
    for (const name of ["no_room", "no_removal"]) {
      await run(`DROP TRIGGER ${name}${kind === "Postgres" ? " ON messages" : ""}`);
    }
    expect(await send(body)).toMatchObject({ imported: 2501 });
    await store.close(true);
    store = await store.reopen();
    store.history.start();
    while ((await store.rows.imports.unfinished()).length > 0)
      await new Promise((resolve) => setImmediate(resolve));
    expect((await store.history.chats(agent)).map((chat) => chat.messageCount).sort()).toEqual([1250, 1251]);
    expect(await store.read("SELECT count(*) AS n FROM messages")).toEqual([{ n: 2501 }]);
  });

  it("an export can be of one chat, by its stored id or its chat_id, and of an unknown one is empty", async () => {
    await send(ndjson(lines(10)));
    const one = await read(agent, "api-1");
    expect(one.trimEnd().split("\n").length).toBe(5);
    expect(await read(agent, "1")).toBe(one);
    expect(await read(agent, "nope")).toBe("");
    expect(await read("nobody")).toBe("");
  });

  it("an export goes at its reader's pace and leaves out what came after its start", async () => {
    await send(ndjson(lines(5000)));
    const stream = await store.history.export(agent, undefined, never);
    await store.add(agent, "api-0", [{ session: "late", content: "late", ts: 1 }]);
    const all = await text(stream);
    expect(all.trimEnd().split("\n").length).toBe(5000);
    expect(all).not.toContain('"late"');
  });
});
