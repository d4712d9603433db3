import { expect, it } from "vitest";
import { startAllProviders } from "./fixtures/all-channels.ts";
import { rowsOf } from "./fixtures/rows.ts";
import { type Gateway, KEYS, startGateway, testConfig, until } from "./harness.ts";

it("ends the turn and closes the waiting rows of an agent that is removed [AGENT-END-1]", async () => {
  let gateway: Gateway;
  await using providers = await startAllProviders(() => gateway);
  await using own = await startGateway({ agent: providers.blocks });
  gateway = own;
  await providers.prepare();
  const slack = providers.drivers.find(({ channel }) => channel === "teamchat")!;
  const states = () => rowsOf(own, "SELECT state, note FROM channel_inbox ORDER BY id");
  await slack.say(1, "SLOW 1000 100");
  await until(() => states()[0]?.state === "turn", "the first message to be with the agent");
  await slack.say(1, "second");
  await until(() => states().length === 2, "the second message to wait");

  // An agent that is missing from the file for a moment keeps its messages.
  const config = testConfig({ agent: providers.blocks }) as { agents: object[] };
  await own.writeConfig({ ...config, agents: config.agents.slice(1) });
  await until(async () => {
    const { status } = await own.json("GET", "/api/v1/agents/assistant");
    return status === 404;
  }, "the agent to be gone");
  expect(states().map(({ state }) => state)).toContain("waiting");
  await own.writeConfig(config);
  await until(async () => (await own.json("GET", "/api/v1/agents/assistant")).status === 200, "its return");

  const { status } = await own.json("DELETE", "/api/v1/agents/assistant", { key: KEYS.admin });
  expect(status).toBe(200);
  await until(() => states().every(({ state }) => state === "done"), "the rows to be closed");
  expect(states()[1]).toEqual({ state: "done", note: "The agent was removed." });
  expect(rowsOf(own, "SELECT 1 FROM turns WHERE state = 'running'")).toEqual([]);
  expect(rowsOf(own, "SELECT 1 FROM channel_outbox WHERE state IN ('pending', 'sending')")).toEqual([]);
}, 60_000);
