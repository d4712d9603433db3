import { describe, expect, it } from "vitest";
import { signed } from "../../fixtures/init-data.ts";
import { BOT_TOKEN, terminalRig } from "../../fixtures/terminal-rig.ts";

type Rig = Awaited<ReturnType<typeof terminalRig>>;

const from = (more: object = {}) => ({
  channel: "guildchat",
  chatId: "chat",
  senderId: "42",
  isDirect: true,
  ...more,
});

async function say(rig: Rig, text: string, more: object = {}) {
  const { command } = await rig.terminal.room();
  return command({ agent: { id: "assistant" } as never, text, ...from(more) });
}
/** Sends `/cli`; resolves to the path of the link, and the code. */
async function begin(rig: Rig, more: object = {}) {
  const said = (await say(rig, "/cli", more))!;
  const url = said.webApp?.url ?? /https:\/\/\S+/.exec(said.text)![0];
  return { said, path: new URL(url).pathname, code: /`(\w{6})`/.exec(said.text)![1]! };
}
const cookieOf = ({ headers }: { headers: Record<string, unknown> }) => {
  const line = String(headers["set-cookie"]);
  return { line, cookie: line.split(";")[0]! };
};
/** A browser that has opened the link. */
async function bound(rig: Rig, more: object = {}) {
  const begun = await begin(rig, more);
  const { cookie } = cookieOf(await rig.ask("POST", `${begun.path}/bind`));
  const ask = (method: string, sub: string, request: object = {}) =>
    rig.ask(method, `${begun.path}${sub}`, { headers: { cookie }, ...request });
  return { ...begun, cookie, ask };
}
/** One that has been approved: `look` asks with the viewer's cookie. */
async function viewing(rig: Rig) {
  const pair = await bound(rig);
  await say(rig, `/cli approve ${pair.code}`);
  const { cookie } = cookieOf(await pair.ask("GET", "/status"));
  const look = (method: string, sub: string, body?: object) =>
    pair.ask(method, sub, { headers: { cookie }, ...(body && { body }) });
  return { ...pair, look };
}

describe("/cli in a chat", () => {
  it("is there where the agent has a terminal, and answers who may and can [PAIR-1]", async () => {
    await using rig = await terminalRig();
    for (const channel of ["devicechat", "cloudchat", "teamchat"])
      expect(await say(rig, "/cli", { channel })).toBeUndefined();
    expect((await say(rig, "/cli", { isDirect: false }))?.text).toMatch(/direct chat/);
    rig.state.listed = false;
    expect((await say(rig, "/cli"))?.text).toMatch(/allowlist/);
    rig.state.listed = true;
    rig.state.publicUrl = undefined;
    expect((await say(rig, "/cli"))?.text).toMatch(/publicUrl/);
    rig.state.publicUrl = "https://gw.example/gateway";
    expect((await say(rig, "/cli now please"))?.text).toMatch(/approve CODE/);
    const { said, code } = await begin(rig);
    expect(said.buttons).toEqual([
      { label: "Approve", command: `/cli approve ${code}` },
      { label: "Deny", command: `/cli deny ${code}` },
    ]);
    rig.state.headless = true;
    expect(await say(rig, "/cli")).toBeUndefined();
  });

  it("in `botchat` has a button for the page, and no codes to approve [PAIR-1, PAIR-4]", async () => {
    await using rig = await terminalRig();
    const { said, code } = await begin(rig, { channel: "botchat" });
    expect(said.webApp?.url).toMatch(/^https:\/\/gw\.example\/gateway\/cli\/[0-9a-f]{32}$/);
    for (const verb of ["approve", "deny"])
      expect((await say(rig, `/cli ${verb} ${code}`, { channel: "botchat" }))?.text).toMatch(/unknown/);
  });
});

describe("the link of a pairing", () => {
  it("can be looked at by anybody, and belongs to the first that asks [PAIR-3, PAIR-6]", async () => {
    await using rig = await terminalRig();
    const { path, code } = await begin(rig);
    for (const method of ["GET", "HEAD"]) {
      const page = await rig.ask(method, path);
      expect([page.status, page.headers["set-cookie"]]).toEqual([200, undefined]);
    }
    const page = await rig.ask("GET", path);
    expect(page.text).toContain('src="assets/cli.js"');
    expect(page.text).not.toContain(code);
    expect(page.headers["content-security-policy"]).toMatch(/frame-ancestors 'none'/);
    const first = await rig.ask("POST", `${path}/bind`);
    expect(first.status).toBe(204);
    const { line, cookie } = cookieOf(first);
    expect(line).toMatch(/^cli_pair=[\w-]{43}; /);
    expect(line.split("; ").slice(1)).toEqual([`Path=${path}`, "HttpOnly", "SameSite=Strict", "Secure"]);
    expect((await rig.ask("POST", `${path}/bind`)).status).toBe(403);
    const status = (headers = {}) => rig.ask("GET", `${path}/status`, { headers });
    expect((await status()).status).toBe(403);
    expect((await status({ cookie: "cli_pair=guess" })).status).toBe(403);
    expect((await status({ cookie })).body).toEqual({
      state: "waiting",
      code,
      expiresAt: rig.clock.now() + 600_000,
    });
    const foreign = { headers: { origin: "https://evil.example" } };
    expect((await rig.ask("POST", `${(await begin(rig)).path}/bind`, foreign)).status).toBe(403);
  });

  it("leads nowhere when it is unknown, over or the sixth has begun [PAIR-2]", async () => {
    await using rig = await terminalRig();
    const all = async (path: string) => {
      const answers = [];
      for (const sub of ["", "/status", "/view", "/sessions"]) answers.push(await rig.ask("GET", path + sub));
      for (const sub of ["/bind", "/init", "/pty-ticket"])
        answers.push(await rig.ask("POST", path + sub, { body: {} }));
      return answers;
    };
    const unknown = await all(`/cli/${"0".repeat(32)}`);
    expect(unknown.map(({ status }) => status)).toEqual(Array(7).fill(404));
    expect(unknown[0]!.headers["content-type"]).toMatch(/html/);
    const { path } = await begin(rig);
    rig.clock.advance(600_000);
    const over = await all(path);
    expect(over.map(({ status }) => status)).toEqual(Array(7).fill(404));
    expect(over[0]!.text).toBe(unknown[0]!.text);
    const oldest = await begin(rig);
    for (let count = 0; count < 5; count++) await begin(rig);
    expect((await rig.ask("GET", oldest.path)).status).toBe(404);
  });

  it("opens the viewer when who asked has approved, for 30 minutes [PAIR-4, PAIR-6]", async () => {
    await using rig = await terminalRig();
    const { path, code } = await begin(rig);
    expect((await say(rig, `/cli approve ${code}`))?.text).toMatch(/Nobody has opened/);
    const { cookie } = cookieOf(await rig.ask("POST", `${path}/bind`));
    const ask = (sub: string, headers: Record<string, string> = { cookie }) =>
      rig.ask("GET", path + sub, { headers });
    for (const more of [{ senderId: "43" }, { chatId: "elsewhere" }, { channel: "sigchat" }])
      expect((await say(rig, `/cli approve ${code}`, more))?.text).toMatch(/unknown/);
    expect((await ask("/view")).status).toBe(403);
    expect((await ask("/status")).body.state).toBe("waiting");
    expect((await say(rig, `/cli approve ${code.toLowerCase()}`))?.text).toMatch(/Approved/);
    const approved = await ask("/status");
    expect(approved.body).toMatchObject({ state: "approved", expiresAt: rig.clock.now() + 1_800_000 });
    const viewer = cookieOf(approved);
    expect(viewer.line).toMatch(/^cli_session=[\w-]{43}; Path=\S+; HttpOnly; SameSite=Strict; Secure$/);
    expect((await ask("/view")).status).toBe(403);
    const view = await ask("/view", { cookie: viewer.cookie });
    expect([view.status, view.text]).toEqual([200, expect.stringContaining('src="../assets/viewer.js"')]);
    rig.clock.advance(1_800_000);
    expect((await ask("/view", { cookie: viewer.cookie })).status).toBe(404);
  });

  it("is refused by deny, also when its viewer is open [PAIR-4]", async () => {
    await using rig = await terminalRig();
    const { code, ask, look } = await viewing(rig);
    expect((await say(rig, `/cli deny ${code}`))?.text).toMatch(/Denied/);
    expect((await ask("GET", "/status")).body.state).toBe("denied");
    expect((await look("GET", "/sessions")).status).toBe(403);
    expect((await say(rig, `/cli approve ${code}`))?.text).toMatch(/unknown/);
  });

  it("in `botchat` is approved by what the provider has signed, once [PAIR-5, PAIR-6]", async () => {
    await using rig = await terminalRig();
    const fields = () => ({
      auth_date: String(Math.floor(rig.clock.now() / 1000)),
      user: '{"id":42}',
      query_id: "q",
    });
    const { path, ask } = await bound(rig, { channel: "botchat" });
    const init = (initData: string) => ask("POST", "/init", { body: { initData } });
    const page = await rig.ask("GET", path);
    expect(page.headers["content-security-policy"]).toMatch(/frame-ancestors https:\/\/web\.telegram\.org/);
    expect(page.headers["x-frame-options"]).toBeUndefined();
    expect((await init(signed({ ...fields(), user: '{"id":43}' }, BOT_TOKEN))).status).toBe(403);
    expect((await init(signed(fields(), "1:other"))).status).toBe(403);
    const good = signed(fields(), BOT_TOKEN);
    const stranger = await rig.ask("POST", `${path}/init`, { body: { initData: good } });
    expect(stranger.status).toBe(403);
    expect((await init(good)).status).toBe(204);
    const approved = await ask("GET", "/status");
    expect(approved.body.state).toBe("approved");
    expect(cookieOf(approved).line).toMatch(/HttpOnly; SameSite=None; Partitioned; Secure$/);
    const second = await bound(rig, { channel: "botchat" });
    expect((await second.ask("POST", "/init", { body: { initData: good } })).status).toBe(403);
    const other = await bound(rig);
    expect(
      (await other.ask("POST", "/init", { body: { initData: signed(fields(), BOT_TOKEN) } })).status,
    ).toBe(403);
    expect((await second.ask("POST", "/init", { body: { more: 1 } })).status).toBe(400);
  });
});

describe("the viewer of a pairing", () => {
  it("lists and opens the sessions of its agent alone [PAIR-7]", async () => {
    await using rig = await terminalRig();
    rig.terminals.get("s1")!.write("hello");
    const { look } = await viewing(rig);
    const { body } = await look("GET", "/sessions");
    expect(body.agentId).toBe("assistant");
    expect((body.sessions as { sessionId: string }[]).map(({ sessionId }) => sessionId)).toEqual([
      "s1",
      "s2",
    ]);
    for (const sessionId of ["other", "none"])
      expect((await look("POST", "/pty-ticket", { sessionId })).status).toBe(403);
    const { ticket } = (await look("POST", "/pty-ticket", { sessionId: "s1" })).body;
    const viewer = await rig.dial(`/gateway/api/v1/agents/assistant/pty-stream?ticket=${ticket}`);
    await expect.poll(viewer.text).toBe("hello");
    viewer.socket.send("ls");
    await expect.poll(() => rig.terminals.get("s1")!.typed).toEqual(["ls"]);
    rig.clock.advance(1_800_000);
    expect(await viewer.closed).toBe(4401);
  });

  it("ends when its person may no longer write, and its socket with it [PAIR-7]", async () => {
    await using rig = await terminalRig();
    const { look } = await viewing(rig);
    const { ticket } = (await look("POST", "/pty-ticket", { sessionId: "s1" })).body;
    const viewer = await rig.dial(`/api/v1/agents/assistant/pty-stream?ticket=${ticket}`);
    rig.state.listed = false;
    rig.clock.advance(5000);
    await new Promise(setImmediate);
    rig.clock.advance(5000);
    expect(await viewer.closed).toBe(4401);
    expect((await look("GET", "/sessions")).status).toBe(404);
  });
});
