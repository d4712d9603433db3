import { type Loose, numberOf, objectOf, parseJson, textOf } from "../support/payload.ts";
import { compareIds, isSnowflake } from "./parse.ts";

/** A session of the socket that can be resumed. */
export interface Session {
  id: string;
  /** Address that Discord gave for resuming it. */
  url: string;
  /** Number of the last event that is on disk or was irrelevant. */
  seq: number;
}

interface SeenChannel {
  /** Id of the last message that is on disk or was irrelevant. */
  last: string;
  guild?: string;
  /** True once the bot has been addressed there. */
  mentioned?: boolean;
}

/** The connection's position; kept across restarts. */
export interface Position {
  bot?: { id: string; application: string };
  session?: Session;
  /** Hash of the registered commands. */
  commands?: string;
  roles: Record<string, string>;
  channels: Record<string, SeenChannel>;
  /** Channels in which messages may have been missed. */
  behind: string[];
}

/** Limit on the channels that are asked for missed messages after an interruption. */
const MAX_CHANNELS = 50;
const MAX_ROLES = 500;

const record = <T>(value: unknown, read: (value: Loose, key: string) => T | undefined): Record<string, T> =>
  Object.fromEntries(
    Object.entries(objectOf(value)).flatMap(([key, entry]) => {
      const found = isSnowflake(key) ? read(objectOf(entry), key) : undefined;
      return found === undefined ? [] : [[key, found]];
    }),
  );

/** Reads a stored position; invalid parts are dropped. */
export function readPosition(value: string | undefined): Position {
  const stored = objectOf(value === undefined ? undefined : parseJson(Buffer.from(value)));
  const bot = objectOf(stored.bot);
  const session = objectOf(stored.session);
  const seq = numberOf(session.seq);
  const roles = objectOf(stored.roles);
  const channels = record(stored.channels, ({ last, guild, mentioned }) =>
    isSnowflake(last)
      ? { last, ...(isSnowflake(guild) && { guild }), ...(mentioned === true && { mentioned }) }
      : undefined,
  );
  return {
    ...(isSnowflake(bot.id) &&
      isSnowflake(bot.application) && { bot: { id: bot.id, application: bot.application } }),
    ...(textOf(session.id) &&
      seq !== undefined && { session: { id: String(session.id), url: String(session.url), seq } }),
    ...(textOf(stored.commands) && { commands: String(stored.commands) }),
    roles: record(roles, (_, guild) => (isSnowflake(roles[guild]) ? roles[guild] : undefined)),
    channels,
    behind: Array.isArray(stored.behind) ? stored.behind.filter((id) => Object.hasOwn(channels, id)) : [],
  };
}

/** Another bot's session, channels and commands are useless. */
export function setBot(position: Position, bot: { id: string; application: string }): void {
  if (position.bot && position.bot.id !== bot.id) {
    Object.assign(position, { roles: {}, channels: {}, behind: [] });
    delete position.commands;
  }
  position.bot = bot;
}

/** Remembers the bot's role in a guild. */
export function setRole(position: Position, guild: string, role: string): void {
  delete position.roles[guild];
  position.roles[guild] = role;
  const guilds = Object.keys(position.roles);
  if (guilds.length > MAX_ROLES) delete position.roles[guilds[0]!];
}

/** Notes a message that was taken; where some may have been missed, only {@link caughtUp} moves on. */
export function saw(
  position: Position,
  message: { chatId: string; messageId: string; guild: string | undefined; mentioned: boolean },
): void {
  const { chatId, messageId, guild } = message;
  const known = position.channels[chatId];
  const mentioned = message.mentioned || known?.mentioned === true;
  const last =
    known && (position.behind.includes(chatId) || compareIds(known.last, messageId) > 0)
      ? known.last
      : messageId;
  position.channels[chatId] = {
    last,
    ...(guild !== undefined && { guild }),
    ...(mentioned && { mentioned }),
  };
  if (!known) forgetOldest(position);
}

/** Drops channels in which nobody addresses the bot first, then those silent for longest. */
function forgetOldest(position: Position): void {
  const all = Object.entries(position.channels);
  if (all.length <= MAX_CHANNELS) return;
  const rank = ([, a]: [string, SeenChannel], [, b]: [string, SeenChannel]) =>
    Number(a.mentioned ?? false) - Number(b.mentioned ?? false) || compareIds(a.last, b.last);
  const [oldest] = all.reduce((worst, entry) => (rank(entry, worst) < 0 ? entry : worst));
  delete position.channels[oldest];
  position.behind = position.behind.filter((id) => id !== oldest);
}

/** Every known channel may have missed messages. */
export function allBehind(position: Position): void {
  position.behind = Object.keys(position.channels);
}

/** The channel is asked and done, up to this message. */
export function caughtUp(position: Position, chatId: string, last: string): void {
  position.behind = position.behind.filter((id) => id !== chatId);
  const known = position.channels[chatId];
  if (known && compareIds(last, known.last) > 0) known.last = last;
}

/** The channel cannot be asked right now: the others go first. */
export function postpone(position: Position, chatId: string): void {
  position.behind = [...position.behind.filter((id) => id !== chatId), chatId];
}

/** The channel no longer exists, or the bot can no longer see it. */
export function forget(position: Position, chatId: string): void {
  delete position.channels[chatId];
  position.behind = position.behind.filter((id) => id !== chatId);
}
