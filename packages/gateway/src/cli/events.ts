import { setTimeout as sleep } from "node:timers/promises";
import { type FeedEvent, type FeedPage, GatewayError, readSse } from "@agent-gateway/contract";
import { type Connection, connect } from "./connection.ts";
import { UsageError } from "./errors.ts";
import { type Flag, GLOBAL_FLAGS, isOn, last, parseFlags, takeWords } from "./flags.ts";
import { note, print, printable } from "./output.ts";

const FILTERS = ["types", "agent", "include"] as const;
const FLAGS = new Map<string, Flag>([
  ...GLOBAL_FLAGS,
  ...[...FILTERS, "after"].map((name): [string, Flag] => [name, { key: name }]),
]);
/** Pauses between attempts to reconnect. */
const PAUSE_MS = 500;
const MAX_PAUSE_MS = 10_000;

const shown = ({ timestamp, type, data }: FeedEvent): string => {
  const facts = Object.entries(data).map(
    ([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  const lines = [timestamp, type, ...facts].join("  ").split("\n");
  return `${printable(lines.map((line) => line.trim()).join(" "))}\n`;
};

/** `events follow`: prints events until it is interrupted, and reconnects where it broke off. */
export async function eventsCommand(tokens: readonly string[]): Promise<number> {
  const parsed = parseFlags(takeWords(tokens, 1).rest, FLAGS);
  if (parsed.positionals.length > 0) throw new UsageError(`Unexpected argument: ${parsed.positionals[0]}.`);
  const connection = connect(parsed, process.env);
  const json = isOn(parsed, "json");
  const query: Record<string, string> = {};
  for (const name of FILTERS) {
    const value = last(parsed, name);
    if (value !== undefined) query[name] = value;
  }
  let after = last(parsed, "after") ?? String((await latest(connection, query)).nextCursor);
  let pause = PAUSE_MS;
  for (let first = true; ; first = false) {
    try {
      const response = await connection.call("events", { query: { ...query, after } });
      if (!first) note("connected again");
      const passed = (id: string) => {
        after = id;
      };
      for await (const { id, data } of readSse(response.body!, passed)) {
        const event = JSON.parse(data) as FeedEvent | { type: "error"; message: string; code: string };
        if (!("id" in event)) throw new GatewayError(event.code as "FORBIDDEN", event.message);
        after = id ?? after;
        pause = PAUSE_MS;
        await print(json ? `${data}\n` : shown(event));
      }
    } catch (error) {
      if (first || !isPassing(error)) throw error;
    }
    note("disconnected; reconnecting …");
    await sleep(pause);
    pause = Math.min(pause * 2, MAX_PAUSE_MS);
  }
}

async function latest(connection: Connection, query: Record<string, string>): Promise<FeedPage> {
  const response = await connection.call("events", { query: { ...query, stream: "false", limit: "1" } });
  return (await response.json()) as FeedPage;
}

/** True for a failure that a later attempt may not have: the gateway restarts, or the network is away. */
const isPassing = (error: unknown) =>
  !(error instanceof GatewayError) || error.status >= 500 || error.status === 429;
