import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Gateway, root, startGateway, until } from "./harness.ts";

const agent = (...flags: string[]) => ({
  runtime: {
    type: "agent-cli",
    command: [process.execPath, join(root, "test/fixtures/plain-agent.mjs"), ...flags],
  },
});

const noProcess = (gateway: Gateway) =>
  until(async () => {
    const { body } = await gateway.json("GET", "/status");
    return (body.agents as { sessions: unknown[] }[]).every(({ sessions }) => sessions.length === 0);
  }, "the idle process to end");

describe("a plain agent program", () => {
  it("that nods at control requests but keeps no sessions gets the history from the gateway [SES-11, SES-13, RUN-3]", async () => {
    await using gateway = await startGateway({
      session: { idleTimeoutMinutes: 0.005 },
      agent: agent("--nod"),
    });
    const { body } = await gateway.send("my name is Ada");
    expect(body.response).toBe("got my name is Ada");
    await noProcess(gateway);
    const again = await gateway.send("what is my name?", { session_id: body.session_id });
    expect(again.body.response).toMatch(/my name is Ada[\s\S]*what is my name\?$/);
  });

  it("that ends after each answer loses no message [SES-13, RUN-3]", async () => {
    await using gateway = await startGateway({ agent: agent("--leave") });
    const { body } = await gateway.send("one");
    for (const text of ["two", "three", "four"]) {
      const reply = await gateway.send(text, { session_id: body.session_id });
      expect(reply.status).toBe(200);
      expect(reply.body.response).toContain("one");
      expect(reply.body.response).toMatch(new RegExp(`${text}$`));
    }
  });
});
