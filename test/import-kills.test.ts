import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { type Gateway, startGateway, testConfig, until } from "./harness.ts";

const LINES = 6_000;
const KILLS = 2;
const IMPORT = "/api/v1/agents/assistant/history/import";

/** Messages that the gateway shows, in all chats of the agent. */
async function shown(gateway: Gateway): Promise<number> {
  const { body } = await gateway.json("GET", "/api/v1/agents/assistant/chats");
  return (body.chats as Array<{ messageCount: number }>).reduce((sum, chat) => sum + chat.messageCount, 0);
}

it("an import that kills cut off shows nothing, and then everything [IMPORT-WHOLE-1]", async () => {
  const sessions = [randomUUID(), randomUUID()];
  const lines = Array.from({ length: LINES }, (_, i) =>
    JSON.stringify({
      chatId: `api-${i % 2}`,
      sessionId: sessions[i % 2],
      role: "user",
      content: `message ${i}`,
      ts: 1_700_000_000_000 + i,
    }),
  );
  let gateway = await startGateway();
  const { home } = gateway;
  const stored = () => {
    const db = new DatabaseSync(join(home, "gateway.db"), { readOnly: true, timeout: 2000 });
    try {
      return Number(db.prepare("SELECT count(*) AS n FROM messages").get()!.n);
    } finally {
      db.close();
    }
  };
  try {
    const answer = gateway.request("POST", IMPORT, { raw: `${lines.join("\n")}\n` }).catch(() => undefined);
    for (let kill = 1; kill <= KILLS; kill++) {
      const goal = (kill * LINES) / (KILLS + 2);
      await until(() => stored() >= goal, "part of the import", 60_000);
      const seen = await shown(gateway);
      expect([0, LINES]).toContain(seen);
      await gateway.kill();
      gateway = await startGateway({ home, config: testConfig() });
    }
    await answer;
    const seen = new Set<number>();
    await until(
      async () => {
        const now = await shown(gateway);
        seen.add(now);
        return now > 0;
      },
      "the import",
      60_000,
    );
    expect([...seen].every((count) => count === 0 || count === LINES)).toBe(true);
    expect(await shown(gateway)).toBe(LINES);
    const path = "/api/v1/agents/assistant/chats/api-1/messages/search?q=message%20";
    expect((await gateway.json("GET", path)).body).toMatchObject({ total: LINES / 2 });
  } finally {
    await gateway[Symbol.asyncDispose]();
  }
}, 120_000);
