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
 * Takes the socket's events in order: messages go to the inbox, and only then does the session's number move past
 * them, so that Discord sends again what did not get there.
 */
export function createEvents(deps: EventsDeps) {
  const { api, connection, position, signal } = deps;
  const queue: Dispatch[] = [];
  const ended = new AbortController();
  let running: Promise<void> | undefined;
  let failure: unknown;

  const me = (): Me => ({ id: position.bot?.id ?? "", roles: position.roles });
  const save = () => connection.savePosition(JSON.stringify(position));

  /** A session began or goes on. */
  const opened = async (event: Dispatch): Promise<void> => {
    const user = objectOf(event.data.user).id;
    if (event.type === "READY" && isSnowflake(user)) {
      const application = objectOf(event.data.application).id;
      setBot(position, { id: user, application: isSnowflake(application) ? application : user });
    }
    allBehind(position);
    moveTo(event);
    await save();
    void registerCommands(api, position, deps.commands, signal);
    await catchUp();
  };

  const catchUp = async (): Promise<void> => {
    if (position.behind.length === 0) return;
    await fetchMissed({
      api,
      position,
      me: me(),
      signal: AbortSignal.any([signal, ended.signal]),
      receive: connection.receive,
    });
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
      if (messageId !== undefined) saw(position, { chatId, messageId, guild: groupId, mentioned });
    }
    const last = batch.at(-1);
    if (last) moveTo(last);
    if (messages.length > 0) await save();
  };

  const isOpening = ({ type }: Dispatch) => type === "READY" || type === "RESUMED";

  const drain = async (): Promise<void> => {
    for (;;) {
      const first = queue[0];
      if (!first) return;
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
    if (failure !== undefined) return;
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
      if (failure !== undefined) return;
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
     * Resolves when all that came is stored, and the position with it.
     * @throws Error with a sentence for the user when it could not be stored
     */
    async end(): Promise<void> {
      ended.abort();
      while (running) await running;
      if (failure !== undefined && !connection.signal.aborted) {
        throw new Error("Messages could not be stored; the log says more.");
      }
      await save();
    },
  };
}
