import { type Clock, sleep } from "../../lib/clock.ts";
import { objectOf } from "../support/payload.ts";
import type { AdapterContext, Connection, InboundMessage } from "../types.ts";
import { acknowledge, registerCommands } from "./commands.ts";
import { fetchMissed } from "./missed.ts";
import { type Interaction, isSnowflake, type Me, ownRole, parseInteraction, parseMessage } from "./parse.ts";
import { allBehind, type Position, saw, setBot, setRole } from "./position.ts";
import type { Api } from "./rest.ts";
import type { Dispatch } from "./socket.ts";

export interface EventsDeps {
  api: Api;
  clock: Clock;
  connection: Connection;
  /** Moved on as events are stored. */
  position: Position;
  commands: AdapterContext["commands"];
  signal: AbortSignal;
  /** Something could not be stored: the socket has to end, and the session to be taken up before it. */
  onFailure(): void;
}

/** Events are stored in batches of at most so many, one batch at a time. */
const BATCH = 200;
/**
 * Pauses between attempts to fetch missed messages, while newer ones wait; after the last, they wait no longer. An attempt
 * that brought a channel up to date restarts the count: the remaining channels may not have been asked before it.
 */
const PAUSES_MS = [500, 2_000, 5_000];

/**
 * Takes the socket's events in order: messages go to the inbox, and only then does the session's number move past
 * them, so that Discord sends again what did not get there.
 */
export function createEvents(deps: EventsDeps) {
  const { api, connection, position, clock, signal } = deps;
  const queue: Dispatch[] = [];
  const ended = new AbortController();
  let running: Promise<void> | undefined;
  let begun = false;
  let stopped = false;
  let failure: unknown;

  const me = (): Me => ({ id: position.bot?.id ?? "", roles: position.roles });
  const save = () => connection.savePosition(JSON.stringify(position));

  /** A new session knows nothing of what came before it: noted at once, whatever becomes of the connection. */
  const began = ({ data }: Dispatch): void => {
    const user = objectOf(data.user).id;
    const application = objectOf(data.application).id;
    if (isSnowflake(user)) {
      setBot(position, { id: user, application: isSnowflake(application) ? application : user });
    }
    allBehind(position);
  };

  /** A session began or goes on, which is trusted and yet checked. */
  const opened = async (event: Dispatch): Promise<void> => {
    allBehind(position);
    moveTo(event);
    await save();
    void registerCommands(api, position, deps.commands, signal);
    await catchUp(PAUSES_MS);
  };

  /** Fetches what was missed, before anything newer is taken; what cannot be fetched has to come later. */
  const catchUp = async (pauses: readonly number[] = []): Promise<void> => {
    if (position.behind.length === 0) return;
    const until = AbortSignal.any([signal, ended.signal]);
    const missed = { api, clock, position, me: me(), signal: until, receive: connection.receive };
    await fetchMissed(missed);
    for (let vain = 0; vain < pauses.length && position.behind.length > 0 && !until.aborted; ) {
      const before = position.behind.length;
      await sleep(clock, pauses[vain]!, until);
      if (!until.aborted) await fetchMissed(missed);
      vain = position.behind.length < before ? 0 : vain + 1;
    }
    // What is newer must not come first: Discord gives it again to the next connection.
    stopped = until.aborted && position.behind.length > 0;
    if (stopped) queue.length = 0;
    await save();
  };

  const moveTo = ({ seq }: Dispatch) => {
    if (position.session && seq > position.session.seq) position.session.seq = seq;
  };

  const store = async (batch: readonly Dispatch[]): Promise<void> => {
    const messages: InboundMessage[] = [];
    const interactions: Interaction[] = [];
    for (const { type, data } of batch) {
      if (type === "GUILD_CREATE" && isSnowflake(data.id)) {
        const role = ownRole(data, me().id);
        if (role !== undefined) setRole(position, data.id, role);
      } else if (type === "MESSAGE_CREATE") {
        const message = parseMessage(data, me());
        if (message) messages.push(message);
      } else if (type === "INTERACTION_CREATE") {
        const interaction = parseInteraction(data);
        if (interaction) {
          messages.push(interaction.message);
          interactions.push(interaction);
        }
      }
    }
    if (messages.length > 0) await connection.receive(messages);
    for (const interaction of interactions) void acknowledge(api, interaction, signal);
    for (const { chatId, messageId, groupId, mentioned } of messages) {
      // Only snowflakes tell what came before and after.
      if (isSnowflake(chatId) && isSnowflake(messageId))
        saw(position, { chatId, messageId, guild: groupId, mentioned });
    }
    const last = batch.at(-1);
    if (last) moveTo(last);
    if (messages.length > 0) await save();
  };

  const isOpening = ({ type }: Dispatch) => type === "READY" || type === "RESUMED";

  const drain = async (): Promise<void> => {
    // What the last connection did not come to is older than all that this one brings; a new session asks by itself.
    if (!begun && !(queue[0] && isOpening(queue[0]))) await catchUp(PAUSES_MS);
    begun = true;
    for (;;) {
      const first = queue[0];
      if (!first || stopped) return;
      if (isOpening(first)) {
        queue.shift();
        await opened(first);
        continue;
      }
      const end = queue.findIndex(isOpening);
      await store(queue.splice(0, Math.min(BATCH, end === -1 ? queue.length : end)));
    }
  };

  const run = (task: () => Promise<void>) => {
    if (failure !== undefined || stopped) return;
    running ??= task()
      .catch((error: unknown) => {
        failure = error ?? new Error("not stored");
        deps.onFailure();
      })
      .finally(() => {
        running = undefined;
        if (queue.length > 0) run(drain);
      });
  };

  return {
    take(event: Dispatch): void {
      if (failure !== undefined || stopped) return;
      if (event.type === "READY") began(event);
      queue.push(event);
      run(drain);
    },
    /** A good moment to try again what could not be fetched. */
    beat(): void {
      run(async () => {
        await catchUp();
        await drain();
      });
    },
    /**
     * Resolves when everything received is stored, together with the position.
     * @throws Error with a user-facing message when it could not be stored
     */
    async end(): Promise<void> {
      ended.abort();
      while (running) await running;
      if (failure !== undefined && !connection.signal.aborted) {
        throw new Error("Could not store messages; see the log for details.");
      }
      await save();
    },
  };
}
