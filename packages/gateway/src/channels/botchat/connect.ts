import { type Api, GrammyError, HttpError } from "grammy/web";
import { type Clock, sleep } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { neverSent } from "../support/outcome.ts";
import type { AdapterContext, Connection } from "../types.ts";
import { type CallSignal, connectionProblem, waitOf, within } from "./api.ts";
import { type BotIdentity, botOf, rememberBot } from "./identity.ts";

/** Kinds of updates that are read. */
export const ALLOWED_UPDATES = ["message", "callback_query"] as const;
const CALL_MS = 15_000;
/** https://core.telegram.org/bots/api#botcommand */
const COMMAND = /^[a-z0-9_]{1,32}$/;
const MAX_DESCRIPTION = 256;

export interface LineDeps {
  api: Api;
  token: string;
  clock: Clock;
  log: Logger;
  commands: AdapterContext["commands"];
}

/** True when a connection that stood ended without an answer, and not because the time was up. */
const broke = (error: unknown) =>
  error instanceof HttpError &&
  (error.error as Error | null)?.name !== "AbortError" &&
  !neverSent(error.error);

/** A server that does not know this call may know the others; for a wrong token, the next one fails the same way. */
function unlessUnknown(error: unknown): undefined {
  if (!(error instanceof GrammyError) || error.error_code !== 404) throw error;
}

/** One account's line to Telegram: calls wait as long as Telegram asks, and fail with a user-facing message. */
export function createLine({ api, token, clock, log, commands }: LineDeps) {
  let pause = { from: 0, ms: 0 };
  let introduced = false;

  const line = {
    api,
    /**
     * Rejects with a user-facing message; a wait that Telegram asked for also applies to later connections.
     * @param again asks once more, at once, when the connection breaks: for calls that change nothing
     */
    async call<T>(
      run: (signal: CallSignal) => Promise<T>,
      parent: AbortSignal,
      { withinMs = CALL_MS, again = false } = {},
    ): Promise<T> {
      const passed = clock.elapsed() - pause.from;
      if (passed < pause.ms) await sleep(clock, pause.ms - passed, parent);
      try {
        parent.throwIfAborted();
        const ask = () => within(clock, withinMs, parent, run);
        if (!again) return await ask();
        return await ask().catch((error: unknown) => {
          if (parent.aborted || !broke(error)) throw error;
          return ask();
        });
      } catch (error) {
        const wait = error instanceof GrammyError && error.error_code === 429 ? waitOf(error) : undefined;
        if (wait !== undefined) pause = { from: clock.elapsed(), ms: wait };
        throw connectionProblem(error);
      }
    },

    /** Asks for the bot's identity and registers its commands, best effort and until it has worked. */
    async greet(connection: Connection): Promise<BotIdentity> {
      const me = await line.call((signal) => api.raw.getMe(signal).catch(unlessUnknown), connection.signal);
      if (!me) return botOf(token);
      const bot = { id: me.id, ...(me.username && { username: me.username }) };
      rememberBot(token, bot);
      if (!introduced) {
        introduced = true;
        void introduce(connection.signal);
      }
      return bot;
    },
  };

  const introduce = (signal: AbortSignal) => {
    const known = commands
      .map(({ name, description }) => ({ command: name.replace(/^\//, ""), description }))
      .filter(({ command, description }) => COMMAND.test(command) && description !== "")
      .map(({ command, description }) => ({ command, description: description.slice(0, MAX_DESCRIPTION) }));
    return line
      .call((bound) => api.raw.setMyCommands({ commands: known }, bound), signal)
      .catch((error: unknown) => {
        introduced = false;
        log.debug({ err: error }, "could not register the commands; the next connection tries again");
      });
  };

  return line;
}
export type Line = ReturnType<typeof createLine>;
