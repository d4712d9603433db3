import { GatewayError } from "@agent-gateway/contract";
import type { AgentConfig } from "../../config/index.ts";
import { sleep } from "../../lib/clock.ts";
import type { InboxRow, StoredChat } from "../../store/index.ts";
import { isEnabled, placeKey, placeOf, storedChatId } from "../place.ts";
import type { ChannelPlace, InboundMessage } from "../types.ts";
import { createAnswers } from "./answers.ts";
import { AGENT_IS_BACK, describeResult, helpText, isCli, isHelp, refusalText } from "./commands.ts";
import { createGate } from "./gate.ts";
import { withName } from "./name.ts";
import type { IntakeDeps } from "./ports.ts";
import { createReceiver } from "./receive.ts";
import { targetOf } from "./reply.ts";
import { createTurnRunner, type Kept, type Taken } from "./turn.ts";

export type { FetchedMedia, IntakeDeps, SessionsPort } from "./ports.ts";
export { CUT_OFF, replyContents, replyText } from "./reply.ts";

const RETRY_FIRST_MS = 500;
const RETRY_MAX_MS = 60_000;
/** Pause when a place became free but somebody else took it. */
const BUSY_FIRST_MS = 100;
const BUSY_MAX_MS = 5_000;
/** A message that fails for its own reasons is given up after this many tries; a full disk does not count. */
const MAX_TRIES = 8;
/** How often to check whether the rules can be read again, and how long a message waits for that. */
const RULES_MS = 1_000;
const RULES_DAY_MS = 24 * 3_600_000;
/** Messages that may be joined in one turn. */
const MAX_JOINED = 50;

const isBusy = (error: unknown) =>
  error instanceof GatewayError && (error.code === "SESSION_BUSY" || error.code === "CAPACITY");

/** Works on one chat's messages. */
interface Worker {
  /** Something came in after its latest look began. */
  woken: boolean;
  done: Promise<void>;
}

/** Takes in messages: stored first, then one turn after another in each chat, many chats in parallel. */
export function createIntake(deps: IntakeDeps) {
  const { store, clock, log, access } = deps;
  const { inbox } = store;
  const stopped = new AbortController();
  const turns = createTurnRunner(deps, stopped.signal);
  const gate = createGate((agentId) => deps.agent(agentId)?.session.maxConcurrent ?? 1);
  const workers = new Map<string, Worker>();
  const commandsUnderWay = new Set<number>();
  const { finish, tellMore } = createAnswers(deps);

  const runCommand = async (agent: AgentConfig, taken: Taken): Promise<void> => {
    const { row, message } = taken;
    if (isHelp(message.text)) {
      const all = [...deps.commands, ...(await deps.ownCommands(agent, placeOf(row).channel))];
      return finish([row], message, { text: helpText(all) }, { state: "done", note: "help" });
    }
    try {
      const opened = isCli(message.text) ? await deps.cli(agent, placeOf(row), message) : undefined;
      if (opened) return await finish([row], message, opened, { state: "done", note: "/cli" });
      const command = deps.parseCommand(message.text)!;
      const chatId = storedChatId(row.channel, row.chat_id);
      const restarted = Promise.withResolvers<void>();
      const result = await deps.runCommand(agent, chatId, command, restarted.resolve);
      const said = describeResult(command.name, result);
      await finish([row], message, said, { state: "done", note: command.name });
      restarted.promise
        .then(() => tellMore(taken, AGENT_IS_BACK))
        .catch((error) => log.warn({ err: error, agent: agent.id }, "could not tell that the agent is back"));
    } catch (error) {
      const refusal = refusalText(error);
      if (refusal === undefined) throw error;
      await finish([row], message, { text: refusal }, { state: "done", note: "refused command" });
    }
  };

  const isCommand = (text: string): boolean => {
    if (isHelp(text)) return true;
    try {
      return deps.parseCommand(text) !== undefined;
    } catch {
      return true;
    }
  };

  /**
   * True while a chat can be processed: its agent is loaded and the channel is on. If an adapter is on its way, the chat
   * waits for it; a channel that cannot send because it has no token still accepts its messages.
   */
  const open = (row: InboxRow): boolean => {
    const agent = deps.agent(row.agent_id);
    const place = placeOf(row);
    if (!deps.serves(row.agent_id) || agent?.[place.channel]?.enabled !== true) return false;
    return deps.adapter(place) !== undefined || !isEnabled(agent, place.channel);
  };

  /**
   * Processes one message, or several that are joined. Throws when that is not possible now.
   * @returns `later` while the rules cannot be read, `again` when the initial conditions no longer hold
   */
  const handle = async (
    agent: AgentConfig,
    taken: readonly Taken[],
    kept: Kept,
  ): Promise<"done" | "again" | "later"> => {
    const { row, message } = taken.at(-1)!;
    const place = placeOf(row);
    const rows = taken.map((one) => one.row);
    const decision = await access.decide(place, agent, message);
    if (decision === "later") {
      if (clock.now() - row.received_at < RULES_DAY_MS) return "later";
      await finish(rows, message, undefined, {
        state: "denied",
        note: "The rules could not be read for a day.",
      });
      return "done";
    }
    if (decision !== "allow") deps.onDenied(place);
    if (decision === "ignore") {
      await finish(rows, message, undefined, { state: "denied", note: "ignored" });
      return "done";
    }
    kept.message ??= isCommand(message.text) ? message : await withName(deps, place, message);
    if (decision === "knock") {
      const text = await access.knock(place, agent, kept.message);
      await finish(rows, message, text === undefined ? undefined : { text }, { state: "denied" });
      return "done";
    }
    await access.admit(place, agent, message);
    if (!kept.read) deps.adapter(place)?.markRead?.(targetOf(message, row.received_at));
    kept.read = true;
    if (isCommand(message.text)) {
      await runCommand(agent, taken.at(-1)!);
      return "done";
    }
    const named = [...taken.slice(0, -1), { row, message: kept.message }];
    let over = false;
    // A chat that waits for its own session must not keep others from the agent.
    await turns.idle(row);
    await gate(row.agent_id, async () => {
      if (!(await turns.room(row))) return;
      // The wait may have been long.
      const now = open(row) ? deps.agent(row.agent_id) : undefined;
      if (!now || stopped.signal.aborted || (await access.decide(place, now, message)) !== "allow") return;
      over = true;
      await turns.run(now, named, kept);
    });
    return over ? "done" : "again";
  };

  const waits = new Map<string, Promise<void>>();
  /** All messages of a place wait for its rules together. */
  const untilReadable = (agent: AgentConfig, place: ChannelPlace): Promise<void> => {
    const key = placeKey(place);
    const look = async () => {
      for (let looks = 0; looks < 60 && !stopped.signal.aborted; looks++) {
        await sleep(clock, RULES_MS, stopped.signal);
        if (await access.readable(place, agent)) return;
      }
    };
    const known = waits.get(key);
    if (known) return known;
    const wait = look().finally(() => waits.delete(key));
    waits.set(key, wait);
    return wait;
  };

  /** The next work item: the oldest message of the chat, with those that the channel joins to it. */
  const take = async (chat: StoredChat): Promise<Taken[]> => {
    const joinMs = deps.agent(chat.agent_id)?.[chat.channel as ChannelPlace["channel"]]?.coalesceMs ?? 0;
    const rows = await inbox.waiting(chat, joinMs === 0 ? 1 : MAX_JOINED);
    const taken = rows.map((row) => ({ row, message: JSON.parse(row.message!) as InboundMessage }));
    const first = taken[0];
    if (!first) return [];
    if (joinMs === 0 || isCommand(first.message.text)) return [first];
    const other = taken.findIndex(
      ({ row, message }) =>
        row.sender_id !== first.row.sender_id ||
        row.account !== first.row.account ||
        // Messages put back by a crash run again as the same turn, with the user message that history already has.
        row.user_message !== first.row.user_message ||
        isCommand(message.text),
    );
    const own = other === -1 ? taken : taken.slice(0, other);
    const wait = own.at(-1)!.row.received_at + joinMs - clock.now();
    // A wait longer than all of them means that the clock was set back.
    if (
      other !== -1 ||
      first.row.user_message !== null ||
      own.length === MAX_JOINED ||
      wait <= 0 ||
      wait > joinMs
    )
      return own;
    await sleep(clock, wait, stopped.signal);
    return stopped.signal.aborted ? [] : take(chat);
  };

  /** Waits after a failure; returns true when the message should be given up. */
  const failed = async (error: unknown, taken: readonly Taken[], tries: number): Promise<boolean> => {
    const { row } = taken.at(-1)!;
    log.error(
      { err: error, agent: row.agent_id, channel: row.channel, row: row.id },
      "could not process a message",
    );
    const units = store.forAgent(row.agent_id);
    const healthy = await units.commit(inbox.touch(row.id)).then(
      () => true,
      () => false,
    );
    if (healthy && tries >= MAX_TRIES) return true;
    await sleep(clock, Math.min(RETRY_MAX_MS, RETRY_FIRST_MS * 2 ** tries), stopped.signal);
    return false;
  };

  /** True when someone else has settled one of them: the agent was removed, for example. */
  const outdated = async (taken: readonly Taken[]): Promise<boolean> => {
    const now = await Promise.all(taken.map(({ row }) => inbox.byId(row.id)));
    return taken.some(({ row }, index) => {
      const { state, user_message } = now[index] ?? {};
      return state !== row.state || user_message !== row.user_message;
    });
  };

  const unreadable = async (error: unknown, agent: AgentConfig, row: InboxRow): Promise<boolean> =>
    error instanceof GatewayError &&
    error.code === "CONFLICT" &&
    !(await access.readable(placeOf(row), agent));

  const pause = (count: number) =>
    sleep(clock, Math.min(BUSY_MAX_MS, BUSY_FIRST_MS * 2 ** Math.min(count, 10)), stopped.signal);

  const giveUp = (error: unknown, taken: readonly Taken[]) => {
    const text = refusalText(error) ?? "Your message could not be processed. Please try again later.";
    return finish(
      taken.map(({ row }) => row),
      taken.at(-1)!.message,
      { text },
      { state: "done", note: "given up" },
    );
  };

  const attemptUntilDone = async (taken: readonly Taken[]): Promise<void> => {
    const { row } = taken[0]!;
    const kept: Kept = {};
    for (let tries = 1, busy = 0; !stopped.signal.aborted; ) {
      const agent = deps.agent(row.agent_id);
      if (!agent || !open(row)) return;
      // A turn that seemed not to begin may have begun, and been closed.
      if (tries > 1 && (await outdated(taken).catch(() => false))) return;
      try {
        const outcome = await handle(agent, taken, kept);
        if (outcome === "done") return;
        if (outcome === "later") await untilReadable(agent, placeOf(row));
        else await pause(busy++);
      } catch (error) {
        if (stopped.signal.aborted) return;
        if (isBusy(error)) {
          // Always pause first, whatever the places report: a wait that ends at once must not become a busy loop.
          await pause(busy++);
          continue;
        }
        if (await unreadable(error, agent, row)) {
          await untilReadable(agent, placeOf(row));
          continue;
        }
        if (await outdated(taken).catch(() => false)) return;
        const refused = error instanceof GatewayError && error.status === 400;
        if (refused || (await failed(error, taken, tries++))) {
          await giveUp(error, taken).catch((cause) =>
            log.error({ err: cause }, "could not give up a message"),
          );
          return;
        }
      }
    }
  };

  const work = async (key: string, chat: StoredChat, worker: Worker): Promise<void> => {
    while (!stopped.signal.aborted) {
      worker.woken = false;
      try {
        const taken = await take(chat);
        if (taken.length === 0 || !open(taken[0]!.row)) {
          // A message that was stored during the read may not be in its answer.
          if (worker.woken) continue;
          // No await between this check and the end of the worker, or a wake-up would be lost.
          break;
        }
        await attemptUntilDone(taken);
      } catch (error) {
        const { agent_id: agent, channel } = chat;
        log.error({ err: error, agent, channel }, "could not read a chat's messages; trying again");
        await sleep(clock, RETRY_FIRST_MS, stopped.signal);
      }
    }
    workers.delete(key);
  };

  const wake = (chat: StoredChat) => {
    const key = `${chat.agent_id}/${chat.channel}/${chat.chat_id}`;
    const known = workers.get(key);
    if (known) known.woken = true;
    if (known || stopped.signal.aborted) return;
    const worker = { woken: false, done: Promise.resolve() };
    workers.set(key, worker);
    worker.done = work(key, chat, worker);
  };

  const workCommand = async (id: number): Promise<void> => {
    while (!stopped.signal.aborted) {
      try {
        const row = await inbox.byId(id);
        // No await between this check and the end, or a wake-up would be lost.
        if (row?.state !== "command" || row.message === null || !open(row)) break;
        await attemptUntilDone([{ row, message: JSON.parse(row.message) as InboundMessage }]);
      } catch (error) {
        log.error({ err: error, row: id }, "could not read a command; trying again");
        await sleep(clock, RETRY_FIRST_MS, stopped.signal);
      }
    }
    commandsUnderWay.delete(id);
  };

  const wakeCommand = (id: number) => {
    if (commandsUnderWay.has(id) || stopped.signal.aborted) return;
    commandsUnderWay.add(id);
    void workCommand(id);
  };

  const wakeAll = async (): Promise<void> => {
    if (stopped.signal.aborted) return;
    try {
      for (const { id } of await inbox.commands()) wakeCommand(id);
      for (const chat of await inbox.waitingChats()) if (deps.serves(chat.agent_id)) wake(chat);
    } catch (error) {
      log.error({ err: error }, "could not read the waiting messages; trying again");
      clock.after(RETRY_FIRST_MS, wakeAll);
    }
  };

  return {
    receive: createReceiver(deps, {
      chat: ({ agentId, channel }, chatId) => wake({ agent_id: agentId, channel, chat_id: chatId }),
      command: wakeCommand,
      all: () => void wakeAll(),
    }),
    /** Starts on everything that waits: at the start, and when a channel comes online. Never throws. */
    wakeAll: () => void wakeAll(),
    cutOff: turns.cutOff,
    say: turns.say,
    /** Runs after the sessions room has closed the turns that a crash cut off. */
    recover: (agentId?: string) =>
      (agentId === undefined ? store : store.forAgent(agentId)).commit(inbox.putBackAll(agentId)),
    forget: inbox.forget,
    abandon: inbox.abandon,
    queued: inbox.queued,
    /** Starts nothing more; work in progress ends with its turn. */
    stop() {
      stopped.abort();
    },
    /** Resolves when every chat's worker has ended. */
    async idle(): Promise<void> {
      await Promise.all([...workers.values()].map(({ done }) => done));
    },
  };
}
export type Intake = ReturnType<typeof createIntake>;
