import { GatewayError } from "@agent-gateway/contract";
import { createIntake, type IntakeDeps } from "../../../../packages/gateway/src/channels/intake/index.ts";
import type {
  ChannelAdapter,
  ChannelPlace,
  Decision,
  InboundMessage,
  Target,
} from "../../../../packages/gateway/src/channels/types.ts";
import type { AgentConfig } from "../../../../packages/gateway/src/config/index.ts";
import { createBell } from "../../../../packages/gateway/src/lib/bell.ts";
import type { EndedTurn } from "../../../../packages/gateway/src/lib/turn-ends.ts";
import { change } from "../../../../packages/gateway/src/store/change.ts";

import { manualClock } from "../../../fixtures/manual-clock.ts";
import { memoryDatabase } from "../../../fixtures/memory-db.ts";
import { recordingLogger } from "../../../fixtures/temp-home.ts";
import { startDelivery } from "../delivery/harness.ts";

export const PLACE: ChannelPlace = { agentId: "a", channel: "sigchat", account: "" };

interface RunningTurn {
  sessionId: string;
  text: string;
  again: number | undefined;
  told: string;
  /** What the turn says while it runs. */
  log: { text: string; trouble: string | undefined };
  end(
    text?: string,
    how?: {
      reason?: "shutdown";
      produced?: boolean;
      result?: Partial<EndedTurn>;
      /** The store cannot take the end before this. */
      kept?: Promise<void>;
    },
  ): Promise<void>;
}

/** An intake with sessions, rules and a provider of the test's own. */
export function startIntake({
  db = memoryDatabase(),
  clock = manualClock(),
  places = 2,
  coalesceMs = 0,
  between = async (_what: string): Promise<void> => {},
  progressMs = 0,
  adapter = {} as Partial<ChannelAdapter>,
  deps = {} as Partial<IntakeDeps>,
} = {}) {
  const out = startDelivery({ db, clock, between: () => between("provider") });
  Object.assign(out.adapter, adapter);
  const { store } = out;
  const log = recordingLogger();
  const agent = {
    id: "a",
    session: { maxConcurrent: places },
    sigchat: { enabled: true, channelAccessToken: "t", coalesceMs, progressMs },
  } as unknown as AgentConfig;
  const state = {
    decision: "allow" as Decision,
    decided: 0,
    fetched: [] as string[],
    typing: 0,
    sends: 0,
    removed: false,
  };
  const turns: RunningTurn[] = [];
  const busy = new Set<string>();
  /** Sessions in which no turn can begin although none runs. */
  const held = new Set<string>();
  const freed = createBell(clock);
  const sessionsOf = new Map<string, string[]>();
  let number = 0;

  const message = (id: number, content: string) => ({
    sql: `INSERT INTO messages (id, chat, session, role, content, ts) VALUES (?, 1, 1, 0, ?, 0)`,
    params: [id, content],
  });
  const isBusy = (sessionId: string) => busy.has(sessionId) || held.has(sessionId);
  const waitUntil = async (ms: number, signal: AbortSignal, over: () => boolean) => {
    const end = clock.now() + ms;
    while (!signal.aborted && !over() && clock.now() < end) {
      await freed.wait("a", end - clock.now(), signal);
    }
  };
  const sessions: IntakeDeps["sessions"] = {
    find: async (_agent, chatId, id) => (sessionsOf.get(chatId)?.includes(id) ? { uuid: id } : undefined),
    async latest(_agent, chatId) {
      const last = sessionsOf.get(chatId)?.at(-1);
      return last === undefined ? undefined : { uuid: last };
    },
    isBusy,
    async vacancy(_agent, sessionId, { ms, signal }) {
      const blocked = () => sessionId !== undefined && isBusy(sessionId);
      await waitUntil(ms, signal, () => blocked() || busy.size < places);
      return !blocked() && busy.size < places;
    },
    idle: async (_agent, sessionId, { ms, signal }) => {
      await waitUntil(ms, signal, () => !isBusy(sessionId));
      return !isBusy(sessionId);
    },
    async send(incoming) {
      state.sends++;
      const id = incoming.sessionId ?? `s${++number}`;
      if (isBusy(id)) throw new GatewayError("SESSION_BUSY");
      if (busy.size >= places) throw new GatewayError("CAPACITY");
      busy.add(id);
      if (incoming.sessionId === undefined)
        sessionsOf.set(incoming.chatId, [...(sessionsOf.get(incoming.chatId) ?? []), id]);
      const userMessage = incoming.again === undefined ? store.ids.message() : undefined;
      const stored = store.commit(
        change(...(userMessage === undefined ? [] : [message(userMessage, incoming.text)])),
        ...incoming.also({ sessionId: id, message: userMessage }),
      );
      await stored.catch((error) => {
        busy.delete(id);
        freed.ring("a");
        throw error;
      });
      const { promise: done, resolve } = Promise.withResolvers<EndedTurn>();
      const log: RunningTurn["log"] = { text: "", trouble: undefined };
      turns.push({
        sessionId: id,
        text: incoming.text,
        told: incoming.told,
        log,
        again: incoming.again,
        async end(text = incoming.text, { reason, produced = true, result: more = {}, kept } = {}) {
          await between("agent");
          const result: EndedTurn = {
            status: reason ? "interrupted" : "done",
            text,
            attachments: [],
            files: [],
            ...more,
          };
          const commitEnd = () => store.commit(...incoming.closing({ result, reason, produced }));
          if (kept) result.settled = kept.then(commitEnd).then(() => {});
          else await commitEnd();
          busy.delete(id);
          freed.ring("a");
          resolve(result);
        },
      });
      return { done, log };
    },
  };
  const intake = createIntake({
    store,
    serves: () => true,
    clock,
    log,
    agent: (id) => (id === "a" && !state.removed ? agent : undefined),
    adapter: () => ({
      ...out.adapter,
      working(_target: Target) {
        state.typing++;
        return () => state.typing--;
      },
    }),
    access: {
      async decide() {
        state.decided++;
        await between("file");
        return state.decision;
      },
      readable: async () => state.decision !== "later",
      knock: async () => "Your code is ABC234",
      admit: async () => {},
    },
    delivery: out.delivery,
    sessions,
    parseCommand: () => undefined,
    cli: async () => undefined,
    runCommand: async () => ({}),
    commands: [],
    ownCommands: async () => [],
    async fetchMedia(_adapter, _place, _agent, message) {
      state.fetched.push(message.eventId);
      await between("media");
      return { meta: {}, text: "", mediaFiles: [] };
    },
    split: (_channel, text) => (text === "" ? [] : [text]),
    attachment: () => ({ kind: "file", path: "/x", mime: "x/y", name: "x" }),
    onInbound: () => {},
    onStored: () => {},
    onDenied: () => {},
    step: () => {},
    ...deps,
  });
  return {
    db,
    clock,
    out,
    log,
    agent,
    sessions,
    intake,
    state,
    turns,
    busy,
    held,
    freed,
    sessionsOf,
    say: (text: string, { chatId = "c", eventId = text, senderId = "u", senderName = "Ann" } = {}) =>
      intake.receive(PLACE, [
        { eventId, chatId, kind: "dm", senderId, senderName, text, mentioned: true },
      ] satisfies InboundMessage[]),
    states: () =>
      db.all<{ state: string }>("SELECT state FROM channel_inbox ORDER BY id").map(({ state }) => state),
    /** How each message ended. */
    notes: () =>
      db
        .all<{ state: string; note: string | null }>("SELECT state, note FROM channel_inbox ORDER BY id")
        .map(({ state, note }) => `${state} ${note}`),
    history: () => db.all<{ content: string }>("SELECT content FROM messages").map(({ content }) => content),
  };
}
export type IntakeRig = ReturnType<typeof startIntake>;
