import { expect, it } from "vitest";
import { startGateway } from "./harness.ts";

const MIB = 1024 * 1024;

it("a turn ends at 32 MiB of text, in deltas or in one line; the others go on and the text is kept [CAP-1]", async () => {
  await using gateway = await startGateway();
  const flooded = gateway.send("FLOOD", { chat_id: "flood", timeout_ms: 120_000 });
  expect((await gateway.send("hello", { chat_id: "other" })).status).toBe(200);
  const { status, body } = await flooded;
  expect([status, body.code]).toEqual([500, "AGENT_FAILED"]);
  expect(body.error).toBe("The agent wrote more than 32 MiB of text in one turn, so the turn was ended.");
  const big = await gateway.send(`BIG ${34 * MIB}`, { chat_id: "big", timeout_ms: 60_000 });
  expect([big.status, big.body.code]).toEqual([500, "AGENT_FAILED"]);
  expect(big.body.error).toBe(body.error);
  for (const chat of ["flood", "big"]) {
    const path = `/api/v1/agents/assistant/chats/api-${chat}/messages`;
    const { body: page } = await gateway.json("GET", path);
    const [last] = page.messages as Array<{ content: string; interrupted?: true }>;
    expect(last!.content.length).toBe(32 * MIB);
    expect(last!.interrupted).toBe(true);
  }
  const again = await gateway.send("hello", { chat_id: "flood", session_id: body.session_id });
  expect(again.status).toBe(200);
}, 180_000);
