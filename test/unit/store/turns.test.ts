import { afterEach, beforeEach, describe, expect, it } from "vitest";
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
});
