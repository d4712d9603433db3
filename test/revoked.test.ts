import { readdir } from "node:fs/promises";
import { type ClientRequest, request } from "node:http";
import { join } from "node:path";
import { expect, it } from "vitest";
import { KEYS, startGateway, testConfig, until } from "./harness.ts";

const PNG = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex");

it("keeps nothing that a key was still sending when it was revoked [KEY-LATE-1]", async () => {
  await using gateway = await startGateway();
  const config = testConfig();
  const keys = (config.gateway as { api: { keys: Array<{ key: string }> } }).api.keys;
  const leaving = { key: "leaving-admin-key-0006", agents: "*", admin: true };
  keys.push(leaving);
  await gateway.writeConfig(config);
  await until(
    async () => (await gateway.request("GET", "/api/v1/agents", { key: leaving.key })).status === 200,
    "the key to be known",
  );

  const begin = (path: string, type: string, first: string | Buffer) => {
    const { promise: status, resolve } = Promise.withResolvers<number>();
    const { hostname, port } = new URL(gateway.url);
    const headers = { "x-api-key": leaving.key, "content-type": type, "transfer-encoding": "chunked" };
    const sending: ClientRequest = request({ hostname, port, path, method: "POST", headers }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    sending.on("error", () => resolve(0));
    sending.write(first);
    return { sending, status };
  };
  const agent = "/api/v1/agents/assistant";
  const line = { chatId: "api-late", sessionId: "s", role: "user", content: "late", ts: 1 };
  const uploads = {
    media: begin(`${agent}/media`, "image/png", PNG),
    history: begin(`${agent}/history/import`, "application/x-ndjson", `${JSON.stringify(line)}\n`),
    session: begin(`${agent}/sessions`, "application/json", '{"chat_id": "late",'),
  };
  const incoming = () => readdir(join(gateway.home, "agents/assistant/media/.incoming")).catch(() => []);
  const spooled = () => readdir(join(gateway.home, "run/imports")).catch(() => []);
  await until(async () => (await incoming()).length + (await spooled()).length === 2, "the bodies to arrive");

  keys.pop();
  await gateway.writeConfig(config);
  for (const { status } of Object.values(uploads)) expect(await status).toBe(403);
  uploads.media.sending.end(PNG);
  uploads.history.sending.end("\n");
  uploads.session.sending.end(' "name": "late"}');
  await until(
    async () => (await incoming()).length + (await spooled()).length === 0,
    "the bodies to be gone",
  );

  const months = (await readdir(join(gateway.home, "agents/assistant/media"))).filter(
    (name) => !name.startsWith("."),
  );
  expect(months).toEqual([]);
  const chats = await gateway.json("GET", `${agent}/chats`, { key: KEYS.admin });
  expect(chats).toMatchObject({ status: 200, body: { chats: [] } });
});
