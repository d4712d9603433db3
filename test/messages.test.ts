import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Gateway, KEYS, put, startGateway, textOf } from "./harness.ts";

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway[Symbol.asyncDispose]());

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
const upload = async () => {
  const { body } = await gateway.json("POST", "/api/v1/agents/assistant/media", {
    headers: { "content-type": "image/png" },
    raw: PNG as unknown as BodyInit,
  });
  return body.mediaPath as string;
};
const messagesOf = async (chat: string, session?: unknown) => {
  const path = `/api/v1/agents/assistant/chats/api-${chat}/messages?order=asc${session ? `&session_id=${session}` : ""}`;
  return (await gateway.json("GET", path)).body.messages as Array<Record<string, unknown>>;
};
const recordOf = async (sessionId: unknown) => {
  const { body } = await gateway.json("GET", "/api/v1/agents/sessions");
  const agents = body.agents as Array<{ sessions: Array<Record<string, unknown>> }>;
  return agents.flatMap((agent) => agent.sessions).find((session) => session.sessionId === sessionId);
};

describe("a message", () => {
  it("gets one JSON reply from the agent [MSG-1, TURN-1, START-9]", async () => {
    const { status, body, headers } = await gateway.send("SAY hello there");
    expect(status).toBe(200);
    expect(body).toMatchObject({ agent_id: "assistant", response: "hello there" });
    expect(body.session_id).toMatch(UUID);
    expect(body.request_id).toBe(headers.get("x-request-id"));
    expect(body.duration_ms).toBeTypeOf("number");
    expect(body).not.toHaveProperty("attachments");
  });

  it("is streamed with numbered frames that end with [DONE] [MSG-6, TURN-1, TURN-2]", async () => {
    const frames = await gateway.stream("SAY one two three");
    const events = frames.slice(0, -1);
    expect(frames.at(-1)!.data.type).toBe("[DONE]");
    expect(textOf(frames)).toBe("one two three");
    expect(events.map(({ data }) => data.seq)).toEqual(events.map((_, index) => index + 1));
    expect(events.map(({ id }) => Number(id))).toEqual(events.map((_, index) => index + 1));
    expect(new Set(events.map(({ data }) => data.request_id)).size).toBe(1);
    expect(events.at(-1)!.data).toMatchObject({ type: "result", text: "one two three" });
    expect(events.at(-1)!.data.session_id).toMatch(UUID);
  });

  it("reports tools, thinking and images [TURN-3, MSG-10]", async () => {
    const tools = await gateway.stream("TOOL Bash");
    const use = tools.find(({ data }) => data.type === "tool_use");
    const result = tools.find(({ data }) => data.type === "tool_result");
    expect(use!.data).toMatchObject({ name: "Bash" });
    expect(result!.data).toMatchObject({ id: use!.data.id, is_error: false });
    const thinking = await gateway.stream("THINK");
    expect(thinking.some(({ data }) => data.type === "thinking" && data.text !== "")).toBe(true);
    const { body } = await gateway.send("IMAGE");
    const [attachment] = body.attachments as Array<{ type: string; url: string }>;
    expect(attachment!.type).toBe("image");
    const image = await gateway.request("GET", attachment!.url);
    expect(image.headers.get("content-type")).toBe("image/png");
    expect((await image.arrayBuffer()).byteLength).toBeGreaterThan(20);
  });

  it("opens a session, and continues it when its id is sent [MSG-4]", async () => {
    const first = await gateway.send("hello", { chat_id: "goes-on" });
    const second = await gateway.send("again", { chat_id: "goes-on", session_id: first.body.session_id });
    expect(second.body.session_id).toBe(first.body.session_id);
    expect(second.body.response).toBe("Echo[2]: again");
    const other = await gateway.send("hello", { chat_id: "goes-on" });
    expect(other.body.session_id).not.toBe(first.body.session_id);
  });

  it("never opens a session for an unknown id [MSG-5]", async () => {
    const mine = await gateway.send("hello", { chat_id: "owner" });
    for (const [chat, session] of [
      ["nobody", "00000000-0000-4000-8000-000000000000"],
      ["nobody", mine.body.session_id],
      ["nobody", "../../etc"],
    ]) {
      const { status, body } = await gateway.send("hello", { chat_id: chat, session_id: session });
      expect(status).toBe(404);
      expect(body.code).toBe("SESSION_NOT_FOUND");
    }
    const { body } = await gateway.json("GET", "/api/v1/agents/assistant/sessions?chat_id=nobody");
    expect(body.sessions).toEqual([]);
  });

  it("is refused when it is empty, too long or without a chat [MSG-2, MSG-3, START-8, ERR-2]", async () => {
    const cases: Array<[Record<string, unknown>, string]> = [
      [{ chat_id: "me" }, "INVALID_REQUEST"],
      [{ chat_id: "me", message: "" }, "INVALID_REQUEST"],
      [{ chat_id: "me", message: "  \n" }, "INVALID_REQUEST"],
      [{ chat_id: "me", message: "x".repeat(10_001) }, "MESSAGE_TOO_LONG"],
      [{ message: "hi" }, "INVALID_CHAT_ID"],
      [{ message: "hi", chat_id: "a b" }, "INVALID_CHAT_ID"],
      [{ message: "hi", chat_id: "." }, "INVALID_CHAT_ID"],
      [{ message: "hi", chat_id: ".." }, "INVALID_CHAT_ID"],
      [{ message: "hi", chat_id: "x".repeat(129) }, "INVALID_CHAT_ID"],
      [{ message: "hi", chat_id: "me", stream: "yes" }, "INVALID_REQUEST"],
      [{ message: "hi", chat_id: "me", timeout_ms: -1 }, "INVALID_REQUEST"],
    ];
    for (const [body, code] of cases) {
      const reply = await gateway.json("POST", "/api/v1/agents/assistant/messages", { body });
      expect([reply.status, reply.body.code], JSON.stringify(body).slice(0, 80)).toEqual([400, code]);
      expect((reply.body.details as unknown[]).length).toBeGreaterThan(0);
    }
    expect((await gateway.send("x".repeat(10_000))).status).toBe(200);
    expect((await gateway.send("😀".repeat(10_000))).status).toBe(200);
    expect((await gateway.send("😀".repeat(10_001))).body.code).toBe("MESSAGE_TOO_LONG");
  });

  it("carries images and PDFs to the agent, at most ten uploads of this agent [MSG-7]", async () => {
    const path = await upload();
    const reply = await gateway.send("HISTORY", { media_files: [path] });
    expect(reply.status).toBe(200);
    const { status } = await gateway.send("look", { media_files: Array(11).fill(path) });
    expect(status).toBe(400);
    for (const bad of ["../../config.json", "nope.png", "/etc/passwd", ""]) {
      const refused = await gateway.send("look", { media_files: [bad] });
      expect([refused.status, refused.body.code]).toEqual([400, "INVALID_REQUEST"]);
    }
    const echoed = await gateway.send("FILES", { media_files: [path] });
    expect(echoed.body.response).toContain("img=1");
  });

  it("can be kept out of history by a write key [MSG-8, ERR-5]", async () => {
    const body = { message: "hidden", chat_id: "quiet", store_user_message: false };
    const path = "/api/v1/agents/assistant/messages";
    const plain = await gateway.json("POST", path, { body, key: KEYS.plain });
    expect([plain.status, plain.body.code]).toEqual([403, "FORBIDDEN"]);
    const written = await gateway.json("POST", path, { body, key: KEYS.write });
    expect(written.status).toBe(200);
    expect(await messagesOf("quiet")).toMatchObject([{ role: "assistant", content: "Echo[1]: hidden" }]);
  });

  it("takes image and video settings, and the session keeps the latest [MSG-9]", async () => {
    const first = await gateway.send("ECHO-ALL", {
      chat_id: "art",
      image_params: { model: "im-1", size: "  ", n: 2 },
      video_params: { duration: 3, resolution: "" },
    });
    expect(first.status).toBe(200);
    expect(first.body.response).toContain("im-1");
    expect(await recordOf(first.body.session_id)).toMatchObject({
      imageConfig: { model: "im-1", n: 2 },
      videoConfig: { duration: 3 },
    });
    await gateway.send("again", {
      chat_id: "art",
      session_id: first.body.session_id,
      image_params: { model: "im-2" },
    });
    expect(await recordOf(first.body.session_id)).toMatchObject({ imageConfig: { model: "im-2" } });
    for (const extra of [
      { image_params: "big" },
      { image_params: { n: 0 } },
      { image_params: [] },
      { video_params: { duration: 0 } },
      { video_params: { duration: 1.5 } },
      { video_params: 3 },
    ]) {
      expect((await gateway.send("x", { chat_id: "art", ...extra })).status, JSON.stringify(extra)).toBe(400);
    }
  });
});

describe("an agent", () => {
  it("works in its workspace and sees no key of the gateway [SES-16, START-10]", async () => {
    const cwd = await gateway.send("CWD");
    expect(cwd.body.response).toContain("agents/assistant/workspace");
    for (const name of ["GATEWAY_HOME", "GATEWAY_ADMIN_KEY", "GATEWAY_API_KEY"]) {
      expect((await gateway.send(`ENV ${name}`)).body.response).not.toContain(gateway.home);
    }
    const { body } = await gateway.send("hello", { chat_id: "files" });
    await put(gateway.home, `agents/assistant/sessions/api-files/${body.session_id}/probe`, "there");
  });
});
