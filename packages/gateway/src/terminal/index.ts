import { createTickets } from "../auth/index.ts";
import { once } from "../lib/once.ts";
import type { TerminalDeps, TerminalRoom } from "./room.ts";

export { CLI_CHANNELS, CLI_COMMAND } from "./offer.ts";
export type { Asker } from "./pairings.ts";
export type { SessionsPort, TerminalSession } from "./ports.ts";
export type { ChatMessage, IssuedTicket, Said, TerminalRoom } from "./room.ts";

/** Terminals for people, loaded by the first request, socket or `/cli` that needs them. */
export function createTerminal(deps: Omit<TerminalDeps, "tickets">) {
  const tickets = createTickets(deps.clock);
  const room = once(async (): Promise<TerminalRoom> => {
    const { createRoom } = await import("./room.ts");
    return createRoom({ ...deps, tickets });
  });
  return { tickets, room };
}
export type Terminal = ReturnType<typeof createTerminal>;
