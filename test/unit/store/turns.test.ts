import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemClock } from "../../../packages/gateway/src/lib/clock.ts";
import { silentLogger } from "../../../packages/gateway/src/lib/logger.ts";
import { recoverTurns } from "../../../packages/gateway/src/sessions/recovery.ts";
import { change } from "../../../packages/gateway/src/store/change.ts";
import { cannotStoreNow, hasEnded, type Store } from "../../../packages/gateway/src/store/index.ts";
import { drivers } from "./drivers.ts";

const PLACE = { agentId: "a", channel: "botchat", account: "" };
const SESSION = "00000000-0000-4000-8000-000000000001";

describe.each(drivers)("turns in $driver", ({ open }) => {
  let store: Store;
  beforeEach(async () => {
    store = await open();
  });
  afterEach(() => store.close());

  it("that were closed by somebody else take no late end: its unit fails as a whole [AWAY-6]", async () => {
    const session = { uuid: SESSION, agentId: "a", chatId: "api-c", name: "n", unnamed: false, now: 1 };
    const turn = { requestId: "r", kind: "message", keyId: null, told: 1, now: 1 };
    await store.commit(store.sessions.add(session), store.turns.start(SESSION, turn));
    const end = () =>
      store.commit(
        store.turns.mustRun("r"),
        store.turns.end(SESSION, "done", 2),
        store.positions.save(PLACE, "x"),
      );
    await end();
    expect(await store.turns.running()).toEqual([]);
    await store.commit(store.positions.save(PLACE, "before"));
    const error = await end().catch((failure: unknown) => failure);
    expect([hasEnded(error), cannotStoreNow(error)]).toEqual([true, false]);
    expect(await store.positions.get(PLACE)).toBe("before");
    expect(await store.turns.parts("")).toEqual([]);
  });

  it("whose session is gone are closed with the agent whose messages they answer, else with the first one [TURN-CLOSED-2]", async () => {
    const turn = (requestId: string, state = "running") => ({
      sql: "INSERT INTO turns (request_id, session, kind, state, started_at) VALUES (?, 987654321, 'message', ?, 1)",
      params: [requestId, state],
    });
    const inbox = {
      sql: `INSERT INTO channel_inbox (agent_id, channel, account, event_id, chat_id, sender_id, state, request_id, received_at)
            VALUES ('b', 'botchat', '', 'e', 'c', 's', 'turn', 'of b', 1)`,
      params: [],
    };
    await store.commit(change(turn("of b"), turn("of none"), turn("ended", "done"), inbox));
    const running = async (agentId: string) =>
      (await store.turns.running(agentId)).map(({ requestId }) => requestId);
    expect(await running("a")).toEqual(["of none"]);
    const handles: string[] = [];
    let looked = 0;
    const bothLooked = Promise.withResolvers<void>();
    const recover = (agentId: string) =>
      recoverTurns(agentId, {
        store: {
          ...store,
          // Only the owner of the agent that was taken may close them.
          forAgent(id: string) {
            handles.push(id);
            return { commit: store.commit, holds: () => true, reaches: () => true };
          },
        },
        clock: systemClock,
        log: silentLogger,
        feed: { event: () => change() },
        usage: { record: () => ({ change: [] }) },
        async cutOff() {
          if (++looked === 2) bothLooked.resolve();
          await bothLooked.promise;
          return [];
        },
      } as never);
    // Both look before one of them closes it.
    await Promise.all([recover("a"), recover("a2")]);
    expect(await running("a")).toEqual([]);
    expect(await running("b")).toEqual(["of b"]);
    await recover("b");
    expect(await running("b")).toEqual([]);
    expect(new Set(handles)).toEqual(new Set(["a", "a2", "b"]));
  });
});
