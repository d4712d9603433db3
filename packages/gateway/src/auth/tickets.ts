import { hash, randomBytes } from "node:crypto";
import type { GatewayError } from "@agent-gateway/contract";
import type { Clock } from "../lib/clock.ts";
import type { Principal } from "./principal.ts";

const LIFETIME_MS = 30_000;
/** Tickets are taken at once, so more of them wait only where something asks for them in a loop. */
const MAX_TICKETS = 1000;

/** What a ticket lets its bearer do: what this principal may do in this session. */
export interface TicketHolder {
  principal: Principal;
  agentId: string;
  sessionId: string;
  /** What is wrong with a right that comes from no key, right now; instead of what the keys say of the principal. */
  judge?(): GatewayError | undefined;
}

/** Single-use passes for callers that cannot send a key in a header, such as a page that opens a WebSocket. */
export interface Tickets {
  /** `expiresAt` is Unix ms. */
  issue(holder: TicketHolder): { ticket: string; expiresAt: number };
  /** Uses a ticket up; undefined when it is unknown, used or too old. */
  take(ticket: string): TicketHolder | undefined;
}

/** Tickets live in memory, as hashes, oldest first. */
export function createTickets(clock: Clock): Tickets {
  const known = new Map<string, { holder: TicketHolder; until: number }>();
  const digestOf = (ticket: string) => hash("sha256", ticket, "base64");
  return {
    issue(holder) {
      for (const [digest, { until }] of known) {
        if (until > clock.elapsed() && known.size < MAX_TICKETS) break;
        known.delete(digest);
      }
      const ticket = randomBytes(32).toString("base64url");
      known.set(digestOf(ticket), { holder, until: clock.elapsed() + LIFETIME_MS });
      return { ticket, expiresAt: clock.now() + LIFETIME_MS };
    },
    take(ticket) {
      const digest = digestOf(ticket);
      const found = known.get(digest);
      known.delete(digest);
      return found && found.until > clock.elapsed() ? found.holder : undefined;
    },
  };
}
