import { type Clock, sleep } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Connection, InboundMessage } from "../types.ts";
import { ALLOWED_UPDATES, type Line } from "./connect.ts";
import { numberedBy, sourceOf } from "./identity.ts";
import { parseUpdate } from "./parse.ts";

/** How long Telegram keeps a poll open while there is nothing new, s. */
const POLL_SECONDS = 25;
/** A poll that is not answered by then is lost. */
const POLL_MS = 40_000;
const UNHOOK_MS = 5_000;
/** A server that answers faster with nothing new does not wait at all; it is asked again after a pause. */
const HASTY_MS = 1_000;
const PAUSE_MS = 300;

export interface PollDeps {
  line: Line;
  apiBaseUrl: string | undefined;
  clock: Clock;
  log: Logger;
  /** Called with each message once it is stored. */
  onStored(message: InboundMessage): void;
  onMoved(from: string, to: string): void;
}

/** Polls until the connection has to end. The offset moves only when all earlier updates are stored. */
export async function poll(connection: Connection, deps: PollDeps): Promise<void> {
  const { line, apiBaseUrl, clock, log, onStored, onMoved } = deps;
  const { signal } = connection;
  const bot = await line.greet(connection);
  // A server that cannot do this may poll all the same; where a webhook stands in the way, the poll says so.
  await line
    .call((bound) => line.api.raw.deleteWebhook({ drop_pending_updates: false }, bound), signal, {
      withinMs: UNHOOK_MS,
    })
    .catch((error: unknown) => log.debug({ err: error }, "could not remove a webhook"));
  const own = sourceOf(bot, apiBaseUrl);
  let offset = offsetOf(connection.position(), own);
  // Answered at once, so the first poll proves that the line is alive.
  let timeout = 0;
  while (!signal.aborted) {
    const asked = clock.elapsed();
    const updates = await line.call(
      (bound) =>
        line.api.raw.getUpdates(
          {
            timeout,
            allowed_updates: ALLOWED_UPDATES,
            ...(offset !== undefined && { offset }),
          },
          bound,
        ),
      signal,
      { withinMs: POLL_MS, again: true },
    );
    connection.alive();
    const patient = timeout > 0;
    timeout = POLL_SECONDS;
    const messages: InboundMessage[] = [];
    for (const update of updates.toSorted((a, b) => a.update_id - b.update_id)) {
      const parsed = parseUpdate(update, bot);
      if (parsed.kind === "message") messages.push(numberedBy(own, parsed.message));
      if (parsed.kind === "moved") {
        log.info({ from: parsed.from, to: parsed.to }, "a group became a supergroup and got a new id");
        onMoved(parsed.from, parsed.to);
      }
    }
    if (messages.length > 0) await connection.receive(messages);
    for (const message of messages) onStored(message);
    const next =
      updates.reduce<number | undefined>(
        (most, { update_id }) => Math.max(most ?? update_id + 1, update_id + 1),
        undefined,
      ) ?? offset;
    // Not only upwards: after a silent week Telegram goes on from any number.
    if (next !== undefined && next !== offset) await connection.savePosition(`${own}:${next}`);
    else if (patient && clock.elapsed() - asked < HASTY_MS) await sleep(clock, PAUSE_MS, signal);
    offset = next;
  }
}

/** The offset in a stored position; none if it belongs to another bot or another server. */
function offsetOf(position: string | undefined, own: string): number | undefined {
  const [, owner, offset] = /^(.*):(\d+)$/.exec(position ?? "") ?? [];
  return owner === own ? Number(offset) : undefined;
}
