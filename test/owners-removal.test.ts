import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { postgresStore, withoutPostgres } from "./fixtures/postgres.ts";
import { KEYS, startGateway, testConfig, until } from "./harness.ts";

it.skipIf(withoutPostgres())(
  "an agent is removed on Postgres, and made anew in another folder, and one that was just made answers [OWN-12, OWN-15]",
  async () => {
    const { files, ...store } = await postgresStore();
    const folder = await mkdtemp(join(tmpdir(), "agent-gateway-anew-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
    const config = testConfig({ gateway: { store } }) as {
      agents: Array<{ id: string; workspace?: string }>;
    };
    await using gateway = await startGateway({ config });
    const say = async () =>
      (await gateway.json("POST", "/api/v1/agents/assistant/messages", {
        body: { message: "SAY hello", chat_id: "me" },
      })) as { status: number; body: Record<string, unknown> };
    expect((await say()).status).toBe(200);
    const made = { id: "made", description: "d" };
    expect((await gateway.json("POST", "/api/v1/agents", { key: KEYS.admin, body: made })).status).toBe(201);
    expect((await gateway.json("GET", "/api/v1/agents/made/chats")).status).toBe(200);
    expect(await gateway.json("DELETE", "/api/v1/agents/assistant", { key: KEYS.admin })).toMatchObject({
      status: 200,
      body: { deleted: true, id: "assistant" },
    });
    expect((await say()).status).toBe(404);
    config.agents.find(({ id }) => id === "assistant")!.workspace = folder;
    await gateway.writeConfig(config);
    await until(async () => (await say()).status === 200, "the agent", 10_000);
  },
);
