import { randomInt } from "node:crypto";
import type { Usage as TurnUsage, UsageReport } from "@agent-gateway/contract";
import { GatewayError } from "@agent-gateway/contract";
import type { Clock } from "../lib/clock.ts";
import { localHour } from "../lib/local-time.ts";
import type { Change, Store, UsageFilter, UsageGroup, UsageSum } from "../store/index.ts";
import { COST_PARTS, countUse, type EndedTurn, type Spend } from "./entries.ts";

export type { EndedTurn } from "./entries.ts";

/** Rows wait this long for the totals, where readers find them too. */
const ROLL_UP_EVERY_MS = 600_000;
/** Rows of one unit. */
const BATCH = 10_000;
const DAY_MS = 86_400_000;
const KEEP_ROWS_DAYS = 90;
/** More than a page shows and a script reads in one go. */
const MAX_ROWS = 20_000;

export interface UsageDeps {
  store: Pick<Store, "usage">;
  clock: Clock;
  spend(): Spend & { timezone: string };
}

/** What turns use, and what that costs. */
export function createUsage({ store, clock, spend }: UsageDeps) {
  return {
    /** What a turn used, as callers see it, and the change that keeps it; to be committed with the turn's end. */
    record(turn: EndedTurn): { usage: TurnUsage; change: readonly Change[] } {
      const now = clock.now();
      const { timezone, ...prices } = spend();
      const entries = countUse(turn, prices).map((counted) => ({
        ...counted,
        requestId: turn.requestId,
        at: now,
        day: localHour(now, timezone).day,
        agentId: turn.agentId,
        keyId: turn.keyId,
        source: turn.chatId.split("-", 1)[0]!,
        session: turn.session,
      }));
      const { turns: _, unpriced: __, ...usage } = total(entries);
      return { usage, change: entries.map((entry) => store.usage.add(entry)) };
    },

    /**
     * Sums of the days from `from` to `to` (both inclusive; default: today).
     * @throws GatewayError `INVALID_REQUEST` for days that make no sense, or too many rows
     */
    async report(query: {
      from?: string | undefined;
      to?: string | undefined;
      groups: readonly UsageGroup[];
      agentId?: string | undefined;
      keyId?: string | undefined;
    }): Promise<UsageReport> {
      const { timezone, currency } = spend();
      const today = localHour(clock.now(), timezone).day;
      const filter: UsageFilter = { ...daysOf(query, today), agentId: query.agentId, keyId: query.keyId };
      const sums = await store.usage.sums(filter, query.groups, MAX_ROWS + 1);
      if (sums.length > MAX_ROWS) {
        throw new GatewayError("INVALID_REQUEST", "That is too much at once; ask for fewer days or groups.");
      }
      const rows = sums.map((sum) => ({ ...sum, cost: sum.cost / COST_PARTS }));
      return { from: filter.from, to: filter.to, timezone, currency, rows, total: total(sums) };
    },

    /** Whether an agent that is not configured has left anything here. */
    knowsAgent: (agentId: string) => store.usage.knowsAgent(agentId),

    /** Adds the rows of ended turns to the totals of their days, and removes rows that are older than 90 days. */
    housekeeping: {
      everyMs: ROLL_UP_EVERY_MS,
      changes: () => [
        store.usage.rollUp(randomInt(2, 2 ** 48 - 1), BATCH),
        store.usage.removeRows(clock.now() - KEEP_ROWS_DAYS * DAY_MS, BATCH),
      ],
    },
  };
}
export type Usage = ReturnType<typeof createUsage>;

const MAX_DAYS = 366;

function daysOf({ from, to }: { from?: string | undefined; to?: string | undefined }, today: string) {
  const first = from ?? (to !== undefined && to < today ? to : today);
  const last = to ?? today;
  const days = (Date.parse(last) - Date.parse(first)) / DAY_MS + 1;
  const refuse = (path: string, message: string) => {
    throw new GatewayError("INVALID_REQUEST", `${path} ${message}.`, { details: [{ path, message }] });
  };
  if (days < 1) refuse(from === undefined ? "to" : "from", "must not be after the last day");
  if (days > MAX_DAYS) refuse("from", `must be at most ${MAX_DAYS} days before the last day`);
  return { from: first, to: last };
}

/** What sums add up to; the cost in whole units of the currency. */
function total(sums: readonly Omit<UsageSum, UsageGroup>[]) {
  const add = (
    field: "turns" | "inputTokens" | "outputTokens" | "cacheReadTokens" | "cacheWriteTokens" | "cost",
  ) => sums.reduce((sum, one) => sum + one[field], 0);
  return {
    turns: add("turns"),
    inputTokens: add("inputTokens"),
    outputTokens: add("outputTokens"),
    cacheReadTokens: add("cacheReadTokens"),
    cacheWriteTokens: add("cacheWriteTokens"),
    cost: add("cost") / COST_PARTS,
    estimated: sums.some((one) => one.estimated),
    unpriced: sums.some((one) => one.unpriced),
  };
}
