import { type Clock, sleep } from "../../lib/clock.ts";
import { removeState } from "../../lib/guarded/index.ts";
import type { Logger } from "../../lib/logger.ts";
import {
  type AgentUnits,
  type Change,
  FencedError,
  type NewOutboxRow,
  type OutboxRow,
  type Store,
} from "../../store/index.ts";
import { placeKey, placeOf } from "../place.ts";
import type { ChannelStep } from "../steps.ts";
import type { ChannelAdapter, ChannelPlace, Content, SendOutcome } from "../types.ts";
import { attempt, outgoingOf } from "./attempt.ts";
import type { Flight, Journal } from "./journal.ts";
import { final, ONCE } from "./once.ts";
import { pauseBefore } from "./pause.ts";
import { createReceipts } from "./receipts.ts";
import { ifStored } from "./refused.ts";
import { rowsOf, type Sending, type StoredTarget } from "./sending.ts";
import { type FeedPort, OPEN, tellDelivery } from "./tell.ts";
import { createUnsettled } from "./unsettled.ts";

export { createJournal } from "./journal.ts";
export type { Sending } from "./sending.ts";
export type { FeedPort } from "./tell.ts";

export interface DeliveryDeps {
  store: Pick<Store, "outbox" | "commit" | "forAgent">;
  feed: FeedPort;
  clock: Clock;
  log: Logger;
  /** The adapter of a place while it is enabled. */
  adapter(place: ChannelPlace): ChannelAdapter | undefined;
  /** Called with the outcome of each attempt. */
  onOutcome(place: ChannelPlace, outcome: SendOutcome): void;
  step(label: ChannelStep): void;
  journal: Journal;
  /** False for an agent of another gateway. */
  serves(agentId: string): boolean;
}

/** A message that could not be sent in this time is no longer useful. */
const EXPIRES_MS = 24 * 3_600_000;
const STORE_RETRY_MS = 1_000;
const CLOSE_GRACE_MS = 2_000;
/** Attempts of unknown outcome at one row, about 15 s in all; after that the chat continues without it. */
const MOST_UNKNOWN = 5;
const NEVER_SENT = "The gateway ended before this was sent.";
const NOT_BEGUN = "The gateway's store stopped answering before this was sent.";
const STOPPED = "The gateway stopped while this was being sent.";
const NOT_REPEATED = "It may have arrived before, so it is not sent again.";

/** One chat's way out: its rows go one after another. */
interface Lane {
  place: ChannelPlace;
  chatId: string;
  /** Ends the pause before the next attempt. */
  wake: AbortController;
  /** The newest text of a turn's progress message, not shown yet. */
  edit: { inbox: number; text: string } | undefined;
  /** Failed attempts at the first row after which the gateway chose the time of the next one. */
  failures: number;
  /** Attempts at the first row whose outcome is unknown. */
  unknown: number;
}

/** The row behind an attempt; absent for messages that are sent directly. */
interface Front {
  lane?: Lane | undefined;
  adapter?: ChannelAdapter | undefined;
  /** What the attempt began with. */
  units?: AgentUnits | undefined;
}

/**
 * Sends the messages in the outbox, per chat in order. A row whose outcome is uncertain is sent again only if its
 * provider guarantees that it arrives once.
 */
export function createDelivery(deps: DeliveryDeps) {
  const { store, clock, log, step, journal } = deps;
  const { outbox } = store;
  const lanes = new Map<string, Lane>();
  const runs = new Set<Promise<void>>();
  const stopped = new AbortController();
  let notes: ReturnType<Journal["past"]> | undefined;
  const laneKey = (place: ChannelPlace, chatId: string) => `${placeKey(place)}/${chatId}`;

  /** Retries until it succeeds, as losing the provider's answer would mean sending twice; undefined after a stop. */
  const insist = async <T>(task: () => Promise<T>): Promise<T | undefined> => {
    for (;;) {
      try {
        return await task();
      } catch (error) {
        // Whoever owns the agent now decides about the row.
        if (error instanceof FencedError) return undefined;
        log.error({ err: error }, "could not record the delivery outcome; trying again");
        if (stopped.signal.aborted) return undefined;
        await sleep(clock, STORE_RETRY_MS, stopped.signal);
      }
    }
  };
  /** Answers whether the row was still what the change expected. */
  const record = async (units: AgentUnits, change: Change<boolean>): Promise<boolean> => {
    const answers = await insist(() => units.commit(change));
    return answers?.[0] === true;
  };
  const report = (place: ChannelPlace, outcome: SendOutcome): void => {
    try {
      deps.onOutcome(place, outcome);
    } catch (error) {
      log.error({ err: error }, "could not count a delivery outcome");
    }
  };

  /** True when a row that an earlier attempt may have delivered can be sent again. */
  const mayRepeat = async (row: OutboxRow, adapter: ChannelAdapter | undefined): Promise<boolean> => {
    const outgoing = await outgoingOf(outbox, row);
    return outgoing !== undefined && adapter?.repeatable?.(outgoing) === true;
  };

  /** What an outcome means for a row that an earlier attempt may have delivered. */
  const judged = async (
    row: OutboxRow,
    outcome: SendOutcome,
    { lane, adapter }: Front,
  ): Promise<SendOutcome> => {
    if (lane) lane.unknown = outcome.status === "unknown" ? lane.unknown + 1 : 0;
    if (outcome.status === "unknown" && lane && lane.unknown < MOST_UNKNOWN && !outcome.final) {
      const uncertain = { ...row, uncertain_at: row.uncertain_at ?? row.sending_at };
      return (await insist(() => mayRepeat(uncertain, adapter)))
        ? { status: "retry", reason: outcome.reason }
        : outcome;
    }
    const refused = row.uncertain_at !== null && outcome.status === "failed";
    return refused ? { status: "unknown", reason: `${outcome.reason} ${NOT_REPEATED}` } : outcome;
  };

  /** Settles a row that did not arrive, or may not have; resolves to whether it was still open. */
  const give = async (row: OutboxRow, status: "failed" | "unknown", reason: string, units: AgentUnits) => {
    const told = row.purpose === "progress" ? [] : [tellDelivery(deps.feed, status, row, OPEN)];
    // The event first: it is told only while the row is open.
    const answers = await insist(() =>
      units.commit(...told, outbox.settle(row.id, status, clock.now(), { reason })),
    );
    return answers?.at(-1) === true;
  };

  /** Settles what nobody sends, as its caller was refused. */
  const closeUnsent = async ({ place, key }: NewOutboxRow): Promise<void> => {
    const rows = await insist(() => outbox.beingSent(place.agentId));
    const row = rows?.find((other) => other.key === key);
    if (row) await give(row, "failed", NOT_BEGUN, store.forAgent(place.agentId));
  };

  /** Resolves to whether the row was still open. */
  const settle = async (
    row: OutboxRow,
    given: SendOutcome,
    { lane, adapter, units = store.forAgent(row.agent_id) }: Front = {},
  ): Promise<boolean> => {
    const outcome = await judged(row, given, { lane, adapter });
    const now = clock.now();
    if (lane && outcome.status !== "retry") lane.unknown = 0;
    const uncertainAt = given.status === "unknown" ? (row.uncertain_at ?? row.sending_at) : null;
    const failures = lane?.failures ?? 0;
    // A pause that the provider asked for says nothing about how long the next one should be.
    if (lane)
      lane.failures = outcome.status === "retry" ? failures + Number(outcome.afterMs === undefined) : 0;
    const target = JSON.parse(row.target) as StoredTarget;
    switch (outcome.status) {
      case "sent": {
        const settled = await record(
          units,
          outbox.settle(row.id, "sent", now, { providerId: outcome.messageId }),
        );
        if (target.handshake !== undefined) await removeState(target.handshake).catch(() => {});
        return settled;
      }
      case "failed":
      case "unknown":
        log.warn(
          { agent: row.agent_id, channel: row.channel, row: row.id, state: outcome.status },
          outcome.reason,
        );
        return give(row, outcome.status, outcome.reason, units);
      case "markup": {
        const content = JSON.parse(row.content!) as Content;
        if (content.kind !== "text" || content.plain) {
          return give(row, "failed", outcome.reason, units);
        }
        const plain = JSON.stringify({ ...content, plain: true } satisfies Content);
        return record(units, outbox.again(row.id, { at: now, reason: outcome.reason, content: plain }));
      }
      case "retry": {
        const at = now + pauseBefore(failures, outcome.afterMs);
        return record(units, outbox.again(row.id, { at, reason: outcome.reason, uncertainAt }));
      }
      default:
        return outcome satisfies never;
    }
  };

  const showEdit = async (lane: Lane): Promise<void> => {
    const { inbox, text } = lane.edit!;
    lane.edit = undefined;
    const [row, answered] = await Promise.all([outbox.progressOf(inbox), outbox.hasReply(inbox)]);
    // The reply takes the place of this message, and may have done so already.
    if (answered || row?.state !== "sent" || row.provider_id === null) return;
    const adapter = deps.adapter(lane.place);
    if (!adapter?.edit || stopped.signal.aborted || !store.forAgent(row.agent_id).reaches()) return;
    const { replaces: _r, handshake: _h, ...target } = JSON.parse(row.target) as StoredTarget;
    await adapter.edit(target, row.provider_id, text).catch(() => {});
  };

  const tryOnce = async (
    row: OutboxRow,
    adapter: ChannelAdapter,
    flight: Flight,
    units: AgentUnits,
  ): Promise<SendOutcome> => {
    const outcome = await attempt({ store, units, clock, log, step }, adapter, row, flight);
    step("after-provider-answer");
    flight.answered(row, outcome);
    step("after-answer-noted");
    return outcome;
  };

  const sendOne = async (row: OutboxRow, lane: Lane): Promise<void> => {
    const place = placeOf(row);
    step("before-sending-row");
    const now = clock.now();
    using flight = journal.flight(now);
    const units = store.forAgent(row.agent_id);
    const [marked] = await units.commit(outbox.sending(row.id, now)).catch(async (error: unknown) => {
      // Marked all the same, it would stay so, although it was surely not sent.
      await ifStored(error, () => record(units, outbox.unsent(row.id)));
      throw error;
    });
    // It was given up while it was being read, or a receipt settled it.
    if (!marked) return;
    step("after-sending-row");
    const adapter = deps.adapter(place);
    if (!adapter || stopped.signal.aborted) {
      await record(units, outbox.unsent(row.id));
      return;
    }
    const sending = { ...row, attempts: row.attempts + 1, sending_at: now };
    const outcome = await tryOnce(sending, adapter, flight, units);
    report(place, outcome);
    await settle(sending, outcome, { lane, adapter, units });
    step("after-outcome-row");
  };

  const run = async (key: string, lane: Lane): Promise<void> => {
    while (!stopped.signal.aborted) {
      lane.wake = new AbortController();
      try {
        if (lane.edit && deps.adapter(lane.place)) await showEdit(lane);
        const row = await outbox.next(lane.place, lane.chatId);
        if (stopped.signal.aborted) break;
        const adapter = deps.adapter(lane.place);
        if (!row || (!adapter && clock.now() < row.created_at + EXPIRES_MS)) {
          // What was put into the outbox during the read may not be in its answer.
          if (lane.wake.signal.aborted) continue;
          // No await between this check and the end of the lane, or a wake-up would be lost.
          break;
        }
        const now = clock.now();
        // If the clock was set back, the row's own times lie in the future and mean nothing.
        const wait = now < (row.sending_at ?? row.created_at) ? 0 : row.next_at - now;
        if (now >= row.created_at + EXPIRES_MS) {
          const reason = row.reason ?? "The channel was off for a day.";
          await settle(row, { status: "failed", reason }, { lane });
        } else if (row.uncertain_at !== null && !(await mayRepeat(row, adapter))) {
          const outcome = { status: "unknown", reason: row.reason ?? NOT_REPEATED, final: true } as const;
          if (await settle(row, outcome, { lane })) report(lane.place, outcome);
        } else if (wait > 0) {
          await sleep(clock, wait, AbortSignal.any([lane.wake.signal, stopped.signal]));
        } else await sendOne(row, lane);
      } catch (error) {
        log.error({ err: error, chat: lane.chatId }, "could not send a message yet");
        await sleep(clock, STORE_RETRY_MS, stopped.signal);
      }
    }
    lanes.delete(key);
  };

  const wake = (place: ChannelPlace, chatId: string, edit?: Lane["edit"]): void => {
    const key = laneKey(place, chatId);
    if (stopped.signal.aborted) return;
    const known = lanes.get(key);
    if (known) {
      if (edit) known.edit = edit;
      known.wake.abort();
      return;
    }
    const lane: Lane = { place, chatId, wake: new AbortController(), edit, failures: 0, unknown: 0 };
    lanes.set(key, lane);
    const running = run(key, lane);
    runs.add(running);
    void running.finally(() => runs.delete(running));
  };

  const unsettled = createUnsettled({ store, clock, wake });
  const wakeAll = async (): Promise<void> => {
    try {
      for (const row of await outbox.waitingChats())
        if (deps.serves(row.agent_id)) wake(placeOf(row), row.chat_id);
    } catch (error) {
      log.error({ err: error }, "could not read the outbox; trying again");
      clock.after(STORE_RETRY_MS, wakeAll);
    }
  };

  return {
    /** Puts messages into the outbox; {@link wake} the chat when they are on disk. */
    add: (sending: Sending): Change => outbox.add(rowsOf(sending), clock.now()),
    wake: (place: ChannelPlace, chatId: string) => wake(place, chatId),
    /** Wakes every chat that has something waiting: an adapter became available, or the gateway started. Never throws. */
    wakeAll: () => void wakeAll(),

    /** Sends at once, ahead of waiting messages, and reports the outcome. Never retried. */
    async now(sending: Omit<Sending, "contents"> & { content: Content }): Promise<SendOutcome> {
      const adapter = deps.adapter(sending.place);
      if (!adapter) return { status: "failed", reason: "The channel is not connected." };
      const { content, ...rest } = sending;
      const now = clock.now();
      using flight = journal.flight(now);
      const units = store.forAgent(sending.place.agentId);
      const added = rowsOf({ ...rest, contents: [content] })[0]!;
      const [row] = await units.commit(outbox.addSending(added, now)).catch((error: unknown) => {
        void ifStored(error, () => closeUnsent(added));
        throw error;
      });
      const outcome = await tryOnce(row, adapter, flight, units);
      report(sending.place, outcome);
      await settle(row, final(outcome), { units });
      return outcome;
    },

    /** Sends the progress message of a turn as soon as its chat's lane is free. */
    async progress(sending: Omit<Sending, "contents" | "purpose">, text: string): Promise<void> {
      const contents = [{ kind: "text" as const, text }];
      const rows = rowsOf({ ...sending, contents, purpose: "progress" });
      await store.forAgent(sending.place.agentId).commit(outbox.add(rows, clock.now()));
      wake(sending.place, sending.chatId);
    },
    /** Changes the text of a turn's progress message, once it has been sent. */
    changeProgress: (place: ChannelPlace, chatId: string, inbox: number, text: string) =>
      wake(place, chatId, { inbox, text }),
    dropProgress: outbox.dropProgress,

    handshake: outbox.handshake,

    receipt: createReceipts(deps),

    /**
     * Settles the messages of an agent, or of all, that were being sent, as far as their outcome is known. Only an earlier
     * start on this home (`former`) left notes about that here.
     */
    async recover(agentId?: string, former = true): Promise<void> {
      notes ??= journal.past();
      const past = former ? await notes : () => "unsure" as const;
      const units = agentId === undefined ? store : store.forAgent(agentId);
      const unsent: Change<boolean>[] = [];
      const told: Change[] = [];
      for (const row of await outbox.beingSent(agentId)) {
        const found = past(row);
        const again = !ONCE.has(row.purpose);
        if (found === "unsure") {
          // Others are left to their chat's lane.
          if (row.purpose === "direct") told.push(tellDelivery(deps.feed, "unknown", row, ["sending"]));
          continue;
        }
        if (found !== "unsent") await settle(row, again ? found : final(found));
        else if (again) unsent.push(outbox.unsent(row.id));
        else await settle(row, { status: "failed", reason: NEVER_SENT });
      }
      await units.commit(...unsent, ...told, outbox.leaveUncertain(clock.now(), STOPPED, agentId));
    },
    /** What the process before left is decided; its notes are no longer needed. */
    recovered: journal.start,
    unsettled,
    forget: outbox.forget,
    abandon: outbox.abandon,
    /** Messages of a place that wait to be sent, for health. */
    queued: outbox.queued,
    /** Starts no new attempts; waits a moment for those in progress, which would otherwise become uncertain. */
    async close(): Promise<void> {
      stopped.abort();
      await Promise.race([Promise.all(runs), sleep(clock, CLOSE_GRACE_MS)]);
      journal.close();
    },
  };
}
export type Delivery = ReturnType<typeof createDelivery>;
