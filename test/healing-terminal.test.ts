import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fakeTerminal, type Gateway, root, startGateway, testConfig, until } from "./harness.ts";

type Json = Record<string, unknown>;

describe("a watchdog of agents in terminals", () => {
  let gateway: Gateway;
  beforeAll(async () => {
    const selfHealing = { autoRecover: true, quietSeconds: 2, readySeconds: 2, cooldownSeconds: 1 };
    const base = testConfig({ gateway: { headless: false, selfHealing } });
    const agent = (id: string, ...command: string[]) => ({
      id,
      runtime: { type: "agent-cli", command: [process.execPath, ...command] },
    });
    const twoFaced = join(root, "test/fixtures/two-faced-agent.mjs");
    const agents = [
      agent("freezes", fakeTerminal),
      agent("never", twoFaced),
      agent("asks", fakeTerminal, "--ask-bypass", "numbered"),
    ];
    const env = { PTY_SHELL_SKIP_DIALOG_DISMISS: "1" };
    gateway = await startGateway({ config: { ...base, agents }, env });
  });
  afterAll(() => gateway[Symbol.asyncDispose]());

  const send = (agent: string, message: string) =>
    gateway.json("POST", `/api/v1/agents/${agent}/messages`, { body: { message, chat_id: "me" } });
  const incidentsOf = async (agent: string) =>
    (await gateway.json("GET", `/api/v1/agents/${agent}/incidents`)).body.incidents as Json[];

  it("presses Escape where a screen says busy and stands still, and ends a program that ignores it; goes on without a terminal where none gets ready; leaves known questions to people [HEAL-15]", async () => {
    const frozen = send("freezes", "FREEZE");
    const never = send("never", "SAY without one");
    const asking = send("asks", "SAY accepted");

    expect((await frozen).body.interrupted).toBe(true);
    expect((await incidentsOf("freezes"))[0]).toMatchObject({
      stage: "busy_screen",
      evidence: expect.stringContaining("esc to interrupt"),
      actions: [{ action: "key", by: "watchdog", ok: true }, { action: "restart" }],
      closedAt: expect.any(Number),
    });

    expect((await never).body.response).toBe("without one");
    expect((await incidentsOf("never"))[0]).toMatchObject({
      stage: "not_ready",
      outcome: "recovered",
      actions: [{ action: "restart" }, { action: "headless", ok: true }],
    });
    const { body } = await gateway.json("GET", "/status");
    const { sessions } = (body.agents as { id: string; sessions: Json[] }[]).find(
      ({ id }) => id === "never",
    )!;
    expect(sessions).toMatchObject([{ backend: "headless" }]);

    const dialog = await until(async () => (await incidentsOf("asks"))[0], "the question", 20_000);
    expect(dialog).toMatchObject({ stage: "dialog", allowed: ["key"], action: null, actions: [] });
    const path = `/api/v1/agents/asks/incidents/${dialog.id}/act`;
    expect((await gateway.json("POST", path, { body: { action: "resend" } })).status).toBe(400);
    const acted = await gateway.json("POST", path, { body: { action: "key" } });
    expect(acted.body.incident).toMatchObject({ actions: [{ action: "key", by: "person", ok: true }] });
    expect((await asking).body.response).toBe("accepted");
    expect((await incidentsOf("asks"))[0]).toMatchObject({ outcome: "recovered" });
  }, 60_000);
});
