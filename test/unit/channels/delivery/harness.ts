import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { createDelivery } from "../../../../packages/gateway/src/channels/delivery/index.ts";
import { createJournal } from "../../../../packages/gateway/src/channels/delivery/journal.ts";
import type {
  ChannelAdapter,
  ChannelPlace,
  Outgoing,
  SendOutcome,
} from "../../../../packages/gateway/src/channels/types.ts";
import type { Database } from "../../../../packages/gateway/src/store/sqlite/database.ts";
import { manualClock } from "../../../fixtures/manual-clock.ts";
import { createStore, memoryDatabase } from "../../../fixtures/memory-db.ts";
import { recordingLogger } from "../../../fixtures/temp-home.ts";

export const PLACE: ChannelPlace = { agentId: "a", channel: "sigchat", account: "" };
export const SENT: SendOutcome = { status: "sent", messageId: "p" };
export const UNKNOWN: SendOutcome = { status: "unknown", reason: "The connection broke." };

/** Lets everything go on that waits for no time. */
export const settled = async () => {
  for (let n = 0; n < 50; n++) await new Promise((resolve) => setImmediate(resolve));
};

/** Path for a journal that goes with the test. */
export function journalPath(): string {
  const folder = mkdtempSync(join(tmpdir(), "gateway-unit-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "run", "sends");
}

/** A delivery whose adapter answers as it is told; without an answer left, `sent`. */
export function startDelivery({
  db = memoryDatabase(),
  clock = manualClock(),
  between = async (): Promise<void> => {},
  journal = journalPath(),
  boot = "one" as string | null,
} = {}) {
  const sent: Outgoing[] = [];
  const answers: Array<SendOutcome | (() => Promise<SendOutcome>)> = [];
  const outcomes: string[] = [];
  const steps: string[] = [];
  let repeatable: ChannelAdapter["repeatable"];
  let connected = true;
  const adapter: ChannelAdapter = {
    async send(outgoing) {
      await between();
      outgoing.begin();
      sent.push(outgoing);
      const answer = answers.shift() ?? SENT;
      return typeof answer === "function" ? answer() : answer;
    },
    repeatable: (outgoing) => repeatable?.(outgoing) ?? false,
    close: async () => {},
  };
  const store = createStore(db);
  const notes = createJournal({ path: journal, boot: async () => boot ?? undefined, now: () => clock.now() });
  const made = createDelivery({
    store,
    serves: () => true,
    feed: {
      event: (told) => store.events.add({ ...told, at: clock.now() }),
    },
    clock,
    log: recordingLogger(),
    adapter: () => (connected ? adapter : undefined),
    onOutcome: (_place, { status }) => outcomes.push(status),
    step: (label) => steps.push(label),
    journal: notes,
  });
  const delivery = {
    ...made,
    async recover() {
      await made.recover();
      made.recovered();
    },
  };
  return {
    db,
    store,
    clock,
    delivery,
    adapter,
    sent,
    answers,
    outcomes,
    steps,
    journal,
    /** What the end of its process does to the file. */
    closeJournal: () => notes.close(),
    texts: () => sent.map(({ content }) => (content.kind === "text" ? content.text : content.name)),
    repeatIf(judge: NonNullable<ChannelAdapter["repeatable"]>) {
      repeatable = judge;
    },
    connect(on: boolean) {
      connected = on;
      if (on) delivery.wakeAll();
    },
    /** Texts for a chat, as the end of a turn puts them out. */
    async put(
      texts: readonly string[],
      { chatId = "c", inbox = null as number | null, replaces = false } = {},
    ) {
      await store.commit(
        delivery.add({
          place: PLACE,
          chatId,
          inbox,
          purpose: "reply",
          target: {
            chatId,
            reply: {},
            receivedAt: clock.now(),
            ...(replaces && { replaces: true as const }),
          },
          contents: texts.map((text) => ({ kind: "text", text })),
        }),
      );
      delivery.wake(PLACE, chatId);
      await settled();
    },
    rows: (columns = "state") =>
      db.all<Record<string, unknown>>(`SELECT ${columns} FROM channel_outbox ORDER BY id`),
    told: () =>
      db
        .all<{ type: string; data: string }>("SELECT type, data FROM events ORDER BY id")
        .map(({ type, data }) => `${type} ${(JSON.parse(data) as { deliveryId: number }).deliveryId}`),
    states: () => rowsOf(db).map(({ state }) => state),
  };
}
const rowsOf = (db: Database) => db.all<{ state: string }>("SELECT state FROM channel_outbox ORDER BY id");
