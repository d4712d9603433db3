import { expect, it } from "vitest";
import type { CronDeps } from "../../../packages/gateway/src/crons/index.ts";
import { createCronRoom } from "../../../packages/gateway/src/crons/room.ts";
import { createCronTools } from "../../../packages/gateway/src/crons/tools.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";
import { createStore, memoryDatabase } from "../../fixtures/memory-db.ts";
import { recordingLogger } from "../../fixtures/temp-home.ts";

/** The tools of an agent in a chat, by name. */
function rig() {
  const store = createStore(memoryDatabase());
  const deps = {
    store,
    clock: manualClock(),
    log: recordingLogger(),
    config: () => ({ gateway: { timezone: "UTC", crons: { commands: true } } }),
    agent: (id: string) => ({ id }),
    serves: () => true,
    posts: async () => ({
      refusal: async () => undefined,
      placeFor: async (_: unknown, { channel }: { channel: string }) => ({
        agentId: "a",
        channel,
        account: channel === "devicechat" ? "main" : "",
      }),
    }),
    planned() {},
    step() {},
  } as unknown as CronDeps;
  const room = createCronRoom(deps, () => 0);
  const toolsIn = (chatId: string) =>
    new Map(createCronTools({ agentId: "a", chatId }, async () => room).map((tool) => [tool.name, tool]));
  const call = async (name: string, args: object, chatId = "botchat-5") =>
    toolsIn(chatId)
      .get(name)!
      .call({ ...args });
  return { store, room, toolsIn, call };
}
const DAILY = { name: "n", prompt: "p", schedule: "0 9 * * *" };

it("an agent makes, sees, changes and deletes jobs of its own, which answer in its chat [CRON-11]", async () => {
  const { room, call } = rig();
  const made = JSON.parse(await call("cron_create", DAILY));
  expect(made).toMatchObject({ name: "n", deliver: [{ channel: "botchat", chatId: "5" }], enabled: true });
  expect(await room.show(made.id)).toMatchObject({ createdBy: "agent", agentId: "a", type: "agent" });
  const device = JSON.parse(await call("cron_create", DAILY, "devicechat-1-2@g.us"));
  expect(device.deliver).toEqual([{ channel: "devicechat", chatId: "1-2@g.us", account: "main" }]);
  for (const [chat, more] of [
    ["api-me", {}],
    ["botchat-5", { here: false }],
  ] as const)
    expect(JSON.parse(await call("cron_create", { ...DAILY, ...more }, chat)).deliver).toEqual([]);
  const changed = JSON.parse(await call("cron_update", { id: made.id, at: "2090-01-01T10:00", here: false }));
  expect(changed).toMatchObject({ at: "2090-01-01T10:00:00.000Z", deliver: [], prompt: "p" });
  expect(await call("cron_delete", { id: made.id })).toBe("Deleted.");
  expect(JSON.parse(await call("cron_list", {}))).toHaveLength(3);
});

it("it reaches no commands and no jobs of other agents, and says what is wrong [CRON-11]", async () => {
  const { room, call } = rig();
  const command = await room.create({ agentId: "a", name: "c", command: "true", schedule: "@daily" }, "key");
  const other = await room.create({ agentId: "b", name: "o", prompt: "x", schedule: "@daily" }, "key");
  expect(JSON.parse(await call("cron_list", {}))).toEqual([]);
  for (const id of [command.id, other.id, "nothing"])
    for (const name of ["cron_update", "cron_delete", "cron_run"])
      await expect(call(name, { id })).rejects.toThrow("You have no job with this id.");
  await expect(call("cron_create", { ...DAILY, command: "true" })).rejects.toThrow("command");
  await expect(call("cron_create", { ...DAILY, every: "1h" })).rejects.toThrow("only one of");
  await expect(call("cron_list", { all: true })).rejects.toThrow("all");
});

it("five minutes apart, over an uneven pattern too, and fifty of them [CRON-11]", async () => {
  const { call } = rig();
  const { schedule: _, ...job } = DAILY;
  const made = JSON.parse(await call("cron_create", { ...job, every: "5m" }));
  for (const fast of [{ every: "4m" }, { schedule: "* * * * *" }, { schedule: "0,58 * * * *" }])
    await expect(call("cron_create", { ...job, ...fast })).rejects.toThrow("at least 5 minutes");
  await expect(call("cron_update", { id: made.id, every: "2m" })).rejects.toThrow("at least 5 minutes");
  for (let n = 1; n < 50; n++) await call("cron_create", DAILY);
  await expect(call("cron_create", DAILY)).rejects.toThrow("50 scheduled jobs already");
});

it("in the session of a job, only listing and deleting are offered [CRON-11]", () => {
  const { toolsIn } = rig();
  expect([...toolsIn("cron-1").keys()]).toEqual(["cron_list", "cron_delete"]);
  expect(toolsIn("botchat-5").size).toBe(5);
});
