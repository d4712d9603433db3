import { readFile, rm, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Gateway, KEYS, put, startGateway } from "./harness.ts";

let gateway: Gateway;
let workspace: string;
let session: string;
beforeAll(async () => {
  gateway = await startGateway({ gateway: { publicUrl: "https://gateway.example.org/some/gateway" } });
  workspace = join(gateway.home, "agents/assistant/workspace");
  session = (await gateway.send("SAY hello")).body.session_id as string;
  await put(workspace, "report.txt", "the report");
});
afterAll(() => gateway[Symbol.asyncDispose]());

interface Item {
  share_id: string;
  token: string;
  url?: string;
  expires_at: number;
}
const mint = async (paths: string[], extra: object = {}, key: string = KEYS.write) => {
  const { status, body } = await gateway.json("POST", "/api/v1/shares", {
    key,
    body: {
      agent_id: "assistant",
      session_id: session,
      chat_id: "me",
      refs: paths.map((path) => ({ path })),
      ...extra,
    },
  });
  return { status, code: body.code, items: (body.items ?? []) as Item[] };
};
const fetchShare = (token: string, headers: Record<string, string> = {}, below = "") =>
  gateway.request("GET", `${below}/shared/${token}`, { key: null, headers });
const report = () => join(workspace, "report.txt");

describe("minting", () => {
  it("answers 201 with a token, a ready-made url and when it ends [SHARE-1]", async () => {
    const before = Date.now();
    const { status, items } = await mint([report(), report()]);
    expect(status).toBe(201);
    expect(items).toHaveLength(2);
    for (const { share_id, token, url, expires_at } of items) {
      expect(share_id).toBeTruthy();
      expect(Buffer.from(token, "base64url").length).toBeGreaterThanOrEqual(32);
      expect(url).toBe(`https://gateway.example.org/some/gateway/shared/${token}`);
      expect(expires_at - before).toBeGreaterThanOrEqual(1_800_000);
      expect(expires_at - Date.now()).toBeLessThanOrEqual(1_800_000);
    }
  });

  it("takes 10 to 86400 seconds [SHARE-1]", async () => {
    for (const ttl_seconds of [9, 86_401, 10.5, "60"]) {
      expect(await mint([report()], { ttl_seconds })).toMatchObject({ status: 400, code: "INVALID_REQUEST" });
    }
    const before = Date.now();
    const { items } = await mint([report()], { ttl_seconds: 10 });
    expect(Math.abs(items[0]!.expires_at - before - 10_000)).toBeLessThan(5_000);
  });

  it("stores only the token's hash [SHARE-1]", async () => {
    const { items } = await mint([report()]);
    for (const file of ["gateway.db", "gateway.db-wal"]) {
      const bytes = await readFile(join(gateway.home, file)).catch(() => Buffer.alloc(0));
      expect(bytes.includes(items[0]!.token)).toBe(false);
    }
  });

  it("needs a write key that reaches the agent, the agent, and the session under its chat [SHARE-1]", async () => {
    expect(await mint([report()], {}, KEYS.plain)).toMatchObject({ status: 403, code: "FORBIDDEN" });
    expect(await mint([report()], { agent_id: "second" })).toMatchObject({ status: 403, code: "FORBIDDEN" });
    expect(await mint([report()], { agent_id: "none" })).toMatchObject({
      status: 404,
      code: "AGENT_NOT_FOUND",
    });
    for (const wrong of [{ chat_id: "you" }, { session_id: "none" }]) {
      expect(await mint([report()], wrong)).toMatchObject({ status: 404, code: "SESSION_NOT_FOUND" });
    }
    expect(await mint([report()], { chat_id: ".." })).toMatchObject({ status: 400, code: "INVALID_CHAT_ID" });
    expect((await mint([])).status).toBe(400);
  });

  it("refuses paths outside workspace, session and media with 403 ARTIFACT_PATH_DENIED [SHARE-3]", async () => {
    await symlink(join(gateway.home, "config.json"), join(workspace, "link.json"));
    for (const path of [
      "/etc/passwd",
      "report.txt",
      "./report.txt",
      join(gateway.home, "config.json"),
      `${workspace}/../../../config.json`,
      join(workspace, "link.json"),
      join(gateway.home, "agents/second/workspace/x.txt"),
      `${workspace}-other/x`,
    ]) {
      expect(await mint([report(), path]), path).toMatchObject({ status: 403, code: "ARTIFACT_PATH_DENIED" });
    }
    const own = join(gateway.home, "agents/assistant/sessions/api-me", session, "own.txt");
    const media = join(gateway.home, "agents/assistant/media/x/own.txt");
    for (const path of [own, media]) {
      await put(dirname(path), "own.txt", "own");
      const { status, items } = await mint([path]);
      expect(status).toBe(201);
      expect(await (await fetchShare(items[0]!.token)).text()).toBe("own");
    }
  });
});

describe("the link", () => {
  it("serves the file without a key, also under the public URL's path, with ranges [SHARE-2]", async () => {
    const [item] = (await mint([report()])).items;
    for (const below of ["", "/some/gateway"]) {
      const reply = await fetchShare(item!.token, {}, below);
      expect([reply.status, await reply.text()]).toEqual([200, "the report"]);
      expect(reply.headers.get("x-content-type-options")).toBe("nosniff");
    }
    const part = await fetchShare(item!.token, { range: "bytes=-6" });
    expect([part.status, await part.text()]).toEqual([206, "report"]);
    const page = await put(workspace, "page.html", "<html>");
    const active = await fetchShare((await mint([page])).items[0]!.token);
    expect(active.headers.get("content-disposition")).toMatch(/^attachment; filename="page.html"/);
    await active.arrayBuffer();
  });

  it("is one uniform 404 when it is unknown, revoked, or its file gone or replaced [SHARE-2]", async () => {
    const gone = await put(workspace, "gone.txt", "x");
    const replaced = await put(workspace, "replaced.txt", "x");
    const { items } = await mint([report(), gone, replaced]);
    expect(
      await gateway.json("DELETE", `/api/v1/shares/${items[0]!.share_id}`, { key: KEYS.write }),
    ).toMatchObject({
      status: 200,
      body: { revoked: true },
    });
    await rm(gone);
    await rm(replaced);
    await symlink(join(gateway.home, "config.json"), replaced);
    const bodies = new Set<string>();
    for (const token of [
      ...items.map((item) => item.token),
      "x",
      "A".repeat(43),
      "%2e%2e",
      items[0]!.share_id,
    ]) {
      const reply = await fetchShare(token);
      expect(reply.status).toBe(404);
      const { request_id, ...body } = (await reply.json()) as Record<string, unknown>;
      expect(request_id).toBeTruthy();
      bodies.add(JSON.stringify(body));
    }
    expect([...bodies]).toEqual([expect.stringContaining('"code":"NOT_FOUND"')]);
  });

  it("is revoked only by who could have minted it [SHARE-1]", async () => {
    const [item] = (await mint([report()])).items;
    const revoke = (id: string, key: string) => gateway.json("DELETE", `/api/v1/shares/${id}`, { key });
    expect((await revoke(item!.share_id, KEYS.plain)).status).toBe(403);
    expect((await revoke(item!.share_id, KEYS.other)).status).toBe(403);
    expect((await revoke("none", KEYS.write)).status).toBe(404);
    expect((await fetchShare(item!.token)).status).toBe(200);
    expect((await revoke(item!.share_id, KEYS.admin)).status).toBe(200);
    expect((await revoke(item!.share_id, KEYS.admin)).status).toBe(404);
  });

  it("of another agent is not revoked by a write key [SHARE-1, AUTH-3]", async () => {
    const hello = await gateway.json("POST", "/api/v1/agents/second/messages", {
      body: { message: "hello", chat_id: "me" },
    });
    const theirs = await put(join(gateway.home, "agents/second/workspace"), "theirs.txt", "theirs");
    const place = { agent_id: "second", session_id: hello.body.session_id };
    const [item] = (await mint([theirs], place, KEYS.admin)).items;
    const refused = await gateway.json("DELETE", `/api/v1/shares/${item!.share_id}`, { key: KEYS.write });
    expect([refused.status, refused.body.code]).toEqual([403, "FORBIDDEN"]);
    expect(await (await fetchShare(item!.token)).text()).toBe("theirs");
  });

  it("comes from the agent's share_file tool for any file [MEDIA-5, SHARE-2]", async () => {
    const { body } = await gateway.send(`SHARE ${report()}`);
    const token = /https:\/\/gateway\.example\.org\/some\/gateway\/shared\/([\w-]{43})/.exec(
      String(body.response),
    )?.[1];
    expect(token, String(body.response)).toBeDefined();
    expect(await (await fetchShare(token!)).text()).toBe("the report");
  });
});
