import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Gateway, KEYS, put, startGateway } from "./harness.ts";

const API = "/api/v1/agents/assistant";
const CHANNELS = ["botchat", "guildchat", "devicechat", "cloudchat", "sigchat", "teamchat"] as const;
const files = [
  {
    channel: "botchat",
    groups: "groupAllowlist",
    kind: "group",
    path: "group",
    group: "-1001234",
    id: "groupId",
  },
  {
    channel: "guildchat",
    groups: "guildAllowlist",
    kind: "guild",
    path: "guild",
    group: "99887766",
    id: "guildId",
  },
] as const;

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway[Symbol.asyncDispose]());

const call = (method: string, path: string, body?: unknown, key?: string | null) =>
  gateway.json(method, `${API}/${path}`, {
    ...(body !== undefined && { body }),
    ...(key !== undefined && { key }),
  });
const stateFile = (channel: string, name = "access.json") =>
  join(gateway.home, "agents/assistant/workspace", `.${channel}-state`, name);
const write = (channel: string, content: unknown) =>
  put(
    stateFile(channel, "."),
    "access.json",
    typeof content === "string" ? content : JSON.stringify(content),
  );
const read = async (channel: string) =>
  JSON.parse(await readFile(stateFile(channel), "utf8")) as Record<string, unknown>;

/** An entry as it waits in the file. */
const entry = (over: Record<string, unknown> = {}) => ({
  senderId: "42",
  chatId: "42",
  channelId: "42",
  createdAt: Date.now() - 1_000,
  expiresAt: Date.now() + 600_000,
  kind: "dm",
  guildId: null,
  replies: 1,
  ...over,
});

describe.each(files)("$channel", ({ channel, groups, kind, path, group, id }) => {
  const asked = channel === "botchat" ? { chatId: group } : { channelId: "5", guildId: group };

  it("lists what waits and cleans up what has expired [CH-ACCESS-6, CH-ACCESS-25]", async () => {
    await write(channel, {
      pending: {
        AAAAAA: entry(),
        BBBBBB: entry({ kind, senderId: "43", ...asked }),
        CCCCCC: entry({ expiresAt: Date.now() - 1 }),
      },
    });
    const { status, body } = await call("GET", `${channel}/pending`);
    expect(status).toBe(200);
    const times = { createdAt: expect.any(Number), expiresAt: expect.any(Number) };
    expect(body).toEqual({
      pending:
        channel === "botchat"
          ? [
              { code: "AAAAAA", senderId: "42", chatId: "42", kind: "dm", ...times },
              { code: "BBBBBB", senderId: "43", chatId: group, kind: "group", ...times },
            ]
          : [
              { code: "AAAAAA", senderId: "42", channelId: "42", kind: "dm", guildId: null, ...times },
              { code: "BBBBBB", senderId: "43", channelId: "5", kind: "guild", guildId: group, ...times },
            ],
    });
    expect(Object.keys((await read(channel)).pending as object)).toEqual(["AAAAAA", "BBBBBB"]);
  });

  it("approves a sender, in any case of the code, with a handshake; a group without [CH-ACCESS-10, CH-ACCESS-25]", async () => {
    await write(channel, {
      pending: { AAAAAA: entry({ chatId: "7", channelId: "7" }), BBBBBB: entry({ kind, ...asked }) },
    });
    const dm = await call("POST", `${channel}/approve`, { code: " aaaaaa " });
    expect(dm).toMatchObject({ status: 200, body: { ok: true, senderId: "42", kind: "dm" } });
    const many = await call("POST", `${channel}/approve`, { code: "BBBBBB" });
    expect(many).toMatchObject({ status: 200, body: { ok: true, senderId: "42", kind, [id]: group } });
    expect(await call("GET", `${channel}/allowlist`)).toMatchObject({ body: { allowFrom: ["42"] } });
    expect(await call("GET", `${channel}/${path}/allowlist`)).toMatchObject({ body: { [groups]: [group] } });
    expect(await readdir(stateFile(channel, "approved"))).toEqual(["42"]);
    expect(await readFile(stateFile(channel, "approved/42"), "utf8")).toBe("7");
    expect((await stat(stateFile(channel))).mode & 0o777).toBe(0o600);
    expect((await stat(stateFile(channel, "."))).mode & 0o777).toBe(0o700);
    for (const verb of ["approve", "deny"]) {
      const again = await call("POST", `${channel}/${verb}`, { code: "AAAAAA" });
      expect(again).toMatchObject({ status: 404, body: { code: "NOT_FOUND" } });
    }
  });

  it("denies and dismisses without putting anyone on a list [CH-ACCESS-17, CH-ACCESS-25]", async () => {
    await write(channel, {
      pending: { AAAAAA: entry(), BBBBBB: entry({ senderId: "43" }), CCCCCC: entry({ kind, ...asked }) },
    });
    const denied = await call("POST", `${channel}/deny`, { code: "AAAAAA" });
    expect(denied).toMatchObject({ status: 200, body: { ok: true, senderId: "42", kind: "dm" } });
    for (const gone of ["43", group, "nobody"]) {
      expect(await call("DELETE", `${channel}/pending/${gone}`)).toMatchObject({
        status: 200,
        body: { ok: true },
      });
    }
    expect(await read(channel)).toEqual({ pending: {} });
  });

  it("answers an expired code as one that is not there [CH-ACCESS-6]", async () => {
    await write(channel, { pending: { AAAAAA: entry({ expiresAt: Date.now() - 1 }) } });
    for (const verb of ["approve", "deny"]) {
      const { status, body } = await call("POST", `${channel}/${verb}`, { code: "AAAAAA" });
      expect([status, body.code]).toEqual([404, "NOT_FOUND"]);
    }
  });

  it("changes its policy field by field, and refuses unknown values [CH-ACCESS-26]", async () => {
    await write(channel, { mine: 1 });
    const defaults = { dmPolicy: "allowlist", pairing: true, groupPolicy: "allowlist", requireMention: true };
    const first = await call("PATCH", `${channel}/policy`, { requireMention: true });
    expect(first).toMatchObject({ status: 200, body: { ok: true, ...defaults } });
    for (const change of [
      { dmPolicy: "open" },
      { dmPolicy: "disabled", groupPolicy: "open" },
      { pairing: false, requireMention: false, groupPolicy: "disabled" },
    ]) {
      const before = (await call("PATCH", `${channel}/policy`, { pairing: true })).body;
      expect((await call("PATCH", `${channel}/policy`, change)).body).toEqual({ ...before, ...change });
    }
    expect(await read(channel)).toMatchObject({ mine: 1, dmPolicy: "disabled", requireMention: false });
    const text = await readFile(stateFile(channel), "utf8");
    for (const bad of [
      {},
      { unknown: 1 },
      { dmPolicy: "pairing" },
      { dmPolicy: "Open" },
      { groupPolicy: null },
      { pairing: "true" },
      { requireMention: 1 },
      { dmPolicy: "open", pairing: 0 },
    ]) {
      const { status, body } = await call("PATCH", `${channel}/policy`, bad);
      expect([status, body.code, (body.details as unknown[]).length > 0]).toEqual([
        400,
        "INVALID_REQUEST",
        true,
      ]);
    }
    expect(await readFile(stateFile(channel), "utf8")).toBe(text);
  });

  it("takes users and groups off their lists, and refuses ids that are not numeric [CH-ACCESS-16, CH-ACCESS-27]", async () => {
    await write(channel, {
      allowFrom: ["1", "2"],
      [groups]: [group, "5"],
      groups: { [group]: { allowFrom: ["1"] }, 5: {} },
    });
    expect(await call("DELETE", `${channel}/allow/1`)).toMatchObject({ status: 200, body: { ok: true } });
    expect(await call("DELETE", `${channel}/allow/777`)).toMatchObject({ status: 200, body: { ok: true } });
    expect(await call("DELETE", `${channel}/${path}/allow/${group}`)).toMatchObject({ status: 200 });
    expect(await read(channel)).toEqual({ allowFrom: ["2"], [groups]: ["5"], groups: { 5: {} } });
    const refused = ["ann", "1a", "-1", "+1", "1.5", "0x1", "%31%20", "..%2f1"];
    for (const bad of refused) {
      const { status, body } = await call("DELETE", `${channel}/allow/${bad}`);
      expect([bad, status, body.code]).toEqual([bad, 400, "INVALID_REQUEST"]);
      if (channel === "botchat" && bad === "-1") continue;
      expect((await call("DELETE", `${channel}/${path}/allow/${bad}`)).status).toBe(400);
    }
  });

  it("takes over a legacy policy and a change by hand [CH-ACCESS-13, CH-ACCESS-15]", async () => {
    await write(channel, { dmPolicy: "pairing", pairing: false });
    expect((await call("PATCH", `${channel}/policy`, { requireMention: false })).body).toMatchObject({
      dmPolicy: "allowlist",
      pairing: true,
    });
    expect(await read(channel)).toMatchObject({ dmPolicy: "allowlist", pairing: true });
    await write(channel, { allowFrom: ["9"], [groups]: [Number(group)] });
    expect((await call("GET", `${channel}/allowlist`)).body).toEqual({ allowFrom: ["9"] });
    expect((await call("GET", `${channel}/${path}/allowlist`)).body).toEqual({ [groups]: [group] });
  });

  it("answers 409 where it would have to write over a broken file, which stays as it is [CH-ACCESS-14]", async () => {
    const broken = '{"allowFrom": ["1"],';
    await write(channel, broken);
    for (const [method, route, body] of [
      ["POST", "approve", { code: "AAAAAA" }],
      ["POST", "deny", { code: "AAAAAA" }],
      ["PATCH", "policy", { pairing: true }],
      ["DELETE", "allow/1", undefined],
      ["DELETE", `${path}/allow/${group}`, undefined],
    ] as const) {
      const answer = await call(method, `${channel}/${route}`, body);
      expect([route, answer.status, answer.body.code]).toEqual([route, 409, "CONFLICT"]);
      expect(JSON.stringify(answer.body)).not.toContain(gateway.home);
    }
    expect(await call("GET", `${channel}/pending`)).toMatchObject({ status: 200, body: { pending: [] } });
    expect(await call("GET", `${channel}/allowlist`)).toMatchObject({ status: 200, body: { allowFrom: [] } });
    expect(await readFile(stateFile(channel), "utf8")).toBe(broken);
    await write(channel, {});
    expect((await call("DELETE", `${channel}/allow/1`)).status).toBe(200);
  });

  it("loses nothing of changes that come at once [CH-ACCESS-12]", async () => {
    const codes = Array.from({ length: 12 }, (_, at) => `CODE${10 + at}`);
    const pending = Object.fromEntries(codes.map((code, at) => [code, entry({ senderId: `${500 + at}` })]));
    await write(channel, { pending, allowFrom: ["1", "2"] });
    const answers = await Promise.all([
      ...codes.map((code) => call("POST", `${channel}/approve`, { code })),
      call("PATCH", `${channel}/policy`, { groupPolicy: "disabled" }),
      call("DELETE", `${channel}/allow/1`),
      call("PATCH", `${channel}/policy`, { requireMention: false }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    const state = await read(channel);
    expect(state).toMatchObject({ pending: {}, groupPolicy: "disabled", requireMention: false });
    expect([...(state.allowFrom as string[])].sort()).toEqual(
      ["2", ...codes.map((_, at) => `${500 + at}`)].sort(),
    );
  });
});

describe.each(CHANNELS)("%s, as all channels", (channel) => {
  it("needs an agent, then an admin key, then a code, then one that waits; also where it is not configured [CH-ACCESS-28]", async () => {
    const settle = (verb: string, body: unknown, key?: string, agent = "assistant") =>
      gateway.json("POST", `/api/v1/agents/${agent}/${channel}/${verb}`, { body, ...(key && { key }) });
    for (const verb of ["approve", "deny"]) {
      expect(await settle(verb, { code: "ABCDEF" }, KEYS.write, "nobody")).toMatchObject({
        status: 404,
        body: { code: "AGENT_NOT_FOUND" },
      });
      for (const key of [KEYS.plain, KEYS.write, KEYS.all]) {
        expect(await settle(verb, {}, key)).toMatchObject({ status: 403, body: { code: "FORBIDDEN" } });
      }
      for (const body of [{}, { code: "" }, { code: "  " }, { code: 123456 }, { code: null }, []]) {
        expect(await settle(verb, body)).toMatchObject({ status: 400, body: { code: "INVALID_REQUEST" } });
      }
      for (const code of ["ABCDEF", "nothing at all", "__proto__"]) {
        expect(await settle(verb, { code })).toMatchObject({ status: 404, body: { code: "NOT_FOUND" } });
      }
    }
    const pending = await call("GET", `${channel}/pending`);
    const list = channel === "botchat" || channel === "guildchat" ? "pending" : "senders";
    expect(pending).toMatchObject({ status: 200, body: { [list]: [] } });
    expect(await call("GET", `${channel}/pending`, undefined, KEYS.write)).toMatchObject({ status: 403 });
    const sender = encodeURIComponent("4915112345678@s.whatsapp.net");
    expect(await call("DELETE", `${channel}/pending/${sender}`)).toMatchObject({
      status: 200,
      body: { ok: true },
    });
    expect(await call("DELETE", `${channel}/pending/${sender}`, undefined, KEYS.write)).toMatchObject({
      status: 403,
    });
  });
});

describe("devicechat", () => {
  it("takes account_id from the query or the body, as text [CH-ACCESS-22]", async () => {
    expect(await call("GET", "devicechat/pending?account_id=work")).toMatchObject({ body: { senders: [] } });
    expect(await call("DELETE", "devicechat/pending/1%40lid?account_id=work")).toMatchObject({
      body: { ok: true },
    });
    const bad = await call("POST", "devicechat/approve", { code: "ABCDEF", account_id: 1 });
    expect(bad).toMatchObject({ status: 400, body: { code: "INVALID_REQUEST" } });
  });

  it("approves and refuses a code at its own account alone [CH-ACCESS-22]", async () => {
    const sender = "4915112345678@s.whatsapp.net";
    const now = Date.now();
    const knock = { kind: "dm", id: sender, senderId: sender, chatId: sender, count: 1, replies: 1 };
    const times = { firstSeen: now, lastSeen: now, expiresAt: now + 600_000 };
    const accounts = [{ id: "home" }, { id: "work" }];
    await using own = await startGateway({ agent: { devicechat: { enabled: false, accounts } } });
    await put(
      join(own.home, "agents/assistant/workspace/.devicechat-state"),
      "pending.json",
      JSON.stringify({
        pending: {
          home: [{ ...knock, ...times, code: "HHHHHH" }],
          work: [{ ...knock, ...times, code: "WWWWWW" }],
        },
      }),
    );
    const settle = async (verb: string, code: string, account_id: string) =>
      (await own.json("POST", `${API}/devicechat/${verb}`, { body: { code, account_id } })).status;
    expect(await settle("approve", "WWWWWW", "home")).toBe(404);
    expect(await settle("deny", "HHHHHH", "work")).toBe(404);
    expect(await settle("approve", "WWWWWW", "work")).toBe(200);
    expect(await settle("deny", "HHHHHH", "home")).toBe(200);
    const { agents } = (await own.config()) as { agents: Array<{ devicechat?: { accounts: unknown } }> };
    expect(agents[0]!.devicechat!.accounts).toEqual([{ id: "home" }, { id: "work", dmAllowlist: [sender] }]);
  });
});
