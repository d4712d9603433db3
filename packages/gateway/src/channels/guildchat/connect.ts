import { type Clock, sleep } from "../../lib/clock.ts";
import { unreachable } from "../support/outcome.ts";
import { numberOf, objectOf, textOf } from "../support/payload.ts";
import type { AdapterContext, Connection } from "../types.ts";
import { socketUrl } from "./address.ts";
import { TOKEN_REFUSED } from "./check.ts";
import { createEvents } from "./events.ts";
import { type Position, readPosition } from "./position.ts";
import type { Api } from "./rest.ts";
import { type Ending, runSocket } from "./socket.ts";

export interface ConnectDeps {
  api: Api;
  clock: Clock;
  token: string;
  /** Address of the socket, where it is not what the REST API says. */
  gatewayUrl: string | undefined;
  commands: AdapterContext["commands"];
  /** Times of the last logins by bot; Discord allows one in 5 s. */
  logins: Map<string, number>;
}

const LOGIN_PAUSE_MS = 5_000;
const CALL_MS = 15_000;
/** Discord ends sockets as a matter of course; so many times the next one follows at once. */
const AT_ONCE = 3;
const AT_ONCE_WITHIN_MS = 30_000;
/** At the last login of the day Discord would take the token away. */
const LOGINS_KEPT = 2;

/** Sentences for the codes with which Discord refuses a bot for good. */
const REFUSALS: Readonly<Record<number, string>> = {
  4004: TOKEN_REFUSED,
  4010: "Discord refuses the connection (invalid shard).",
  4011: "The bot is in too many servers for one connection: Discord asks for several (sharding).",
  4012: "Discord no longer supports this version of its gateway.",
  4013: "Discord refuses the connection's intents.",
  4014: "Discord does not let the bot read messages: switch on the Message Content intent on the Bot page of the developer portal.",
};
/** After these a session cannot be resumed. */
const SESSION_GONE = new Set([4003, 4005, 4007, 4009]);

/**
 * Listens until the connection's signal aborts, over as many sockets as Discord asks for, one after another. Rejects
 * with a user-facing message when there is none for now.
 */
export async function connect(deps: ConnectDeps, connection: Connection): Promise<void> {
  const { clock } = deps;
  const position = readPosition(connection.position());
  let recent: number[] = [];
  while (!connection.signal.aborted) {
    const resumed = position.session !== undefined;
    const ending = await listen(deps, connection, position);
    if (connection.signal.aborted) return;
    if (SESSION_GONE.has(ending.code)) delete position.session;
    const refusal = REFUSALS[ending.code];
    if (refusal !== undefined) throw new Error(refusal);
    const sessionLost = resumed && ending.greeted && position.session === undefined;
    recent = recent.filter((at) => clock.elapsed() - at < AT_ONCE_WITHIN_MS);
    if (!(ending.ready || sessionLost) || recent.length >= AT_ONCE) throw new Error(sentenceOf(ending));
    recent.push(clock.elapsed());
  }
}

function sentenceOf({ code, greeted }: Ending): string {
  return greeted ? `Discord closed the connection (${code}).` : "Discord's gateway cannot be reached.";
}

/** One socket, and what comes over it. */
async function listen(deps: ConnectDeps, connection: Connection, position: Position): Promise<Ending> {
  const { api, clock, token } = deps;
  const broken = new AbortController();
  const signal = AbortSignal.any([connection.signal, broken.signal]);
  const url = await address(deps, position, signal);
  const events = createEvents({
    api,
    clock,
    connection,
    position,
    commands: deps.commands,
    signal,
    onFailure: () => broken.abort(),
  });
  const ending = await runSocket(
    {
      clock,
      token,
      url,
      session: () =>
        position.session && {
          ...position.session,
          url: deps.gatewayUrl === undefined ? (socketUrl(position.session.url) ?? url) : url,
        },
      began(session) {
        position.session = session;
      },
      lost() {
        delete position.session;
      },
      loginTurn: (closed) => loginTurn(deps, closed),
      dispatch(event) {
        connection.alive();
        events.take(event);
      },
      beat() {
        connection.alive();
        events.beat();
      },
    },
    signal,
  );
  await events.end();
  return ending;
}

/** Where to connect: asked of the REST API for a new session. */
async function address(deps: ConnectDeps, position: Position, signal: AbortSignal): Promise<string> {
  const own = socketUrl(deps.gatewayUrl);
  const known = own ?? socketUrl(position.session?.url);
  if (position.session && known !== undefined) return known;
  const result = await deps.api.call("GET", "/gateway/bot", { signal, ms: CALL_MS });
  if (result.kind === "refused" && result.status === 401) throw new Error(TOKEN_REFUSED);
  const info = result.kind === "done" ? objectOf(result.body) : {};
  const { remaining, reset_after: resetAfter } = objectOf(info.session_start_limit);
  if ((numberOf(remaining) ?? LOGINS_KEPT) < LOGINS_KEPT) {
    const minutes = Math.ceil((numberOf(resetAfter) ?? 0) / 60_000);
    throw new Error(`Discord does not allow the bot to log in again for ${minutes} minutes.`);
  }
  const url = own ?? socketUrl(textOf(info.url));
  if (url !== undefined) return url;
  if (result.kind === "broken") throw new Error(unreachable(result.error, "Discord"));
  throw new Error("Discord did not say where its gateway is.");
}

async function loginTurn({ logins, clock, token }: ConnectDeps, signal: AbortSignal): Promise<void> {
  const wait = (logins.get(token) ?? Number.NEGATIVE_INFINITY) + LOGIN_PAUSE_MS - clock.elapsed();
  if (wait > 0) await sleep(clock, wait, signal);
  signal.throwIfAborted();
  logins.set(token, clock.elapsed());
}
