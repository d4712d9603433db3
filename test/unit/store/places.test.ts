import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../../packages/gateway/src/lib/clock.ts";
import {
  copyBetween,
  inspectStore,
  openStore,
  openVersions,
} from "../../../packages/gateway/src/store/index.ts";
import { tempFolder } from "../../fixtures/temp-home.ts";

const PLACE = { agentId: "a", channel: "botchat", account: "" };
const sqlite = (folder: string, name: string) => ({ driver: "sqlite" as const, file: join(folder, name) });

describe("a database of SQLite", () => {
  it("is opened, examined and copied where its file is [STORE-COPY-1]", async () => {
    const folder = await tempFolder();
    const from = sqlite(folder, "from.db");
    const store = await openStore(from, systemClock);
    const session = { uuid: "s", agentId: "a", chatId: "c", name: "n", unnamed: false, now: 7 };
    await store.commit(store.positions.save(PLACE, "kept"), store.sessions.add(session));
    const id = store.ids.message();
    expect(
      await store.commit(
        store.messages.add({ id, session: "s", role: "user", content: "hello", ts: 8, extra: {} }),
      ),
    ).toEqual([true]);
    await store.close();

    const facts = await inspectStore(from.file, 10_000);
    expect(facts).toMatchObject({ problem: null, newest: 8, runningTurns: 0 });
    expect(facts.checked).toBe(facts.tables);
    const versions = await openVersions(from, systemClock, true);
    expect(versions.version).toBeGreaterThan(1);
    expect(versions.known).toBe(true);
    versions.close();

    const told: string[] = [];
    const to = sqlite(folder, "to.db");
    const copied = await copyBetween(from, to, systemClock, (what) => void told.push(what));
    expect(told.length).toBeGreaterThan(0);
    expect(copied.find(({ table }) => table === "messages")).toMatchObject({ rows: 1 });
    const copy = await openStore(to, systemClock);
    expect(await copy.positions.get(PLACE)).toBe("kept");
    expect((await copy.history.chats("a")).map(({ chatId }) => chatId)).toEqual(["c"]);
    expect(copy.ids.message()).toBeGreaterThan(id);
    await copy.close();
  });

  it("is copied neither from a file that holds none, nor made there [STORE-COPY-1]", async () => {
    const folder = await tempFolder();
    const [from, to] = [sqlite(folder, "from.db"), sqlite(folder, "to.db")];
    await expect(copyBetween(from, to, systemClock, () => {})).rejects.toThrow();
    const versions = await openVersions(from, systemClock, true);
    expect(versions.version).toBe(0);
    versions.close();
  });
});
