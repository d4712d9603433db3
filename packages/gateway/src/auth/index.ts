export { type Authenticator, createAuthenticator, type KeyEntry, presentedKey } from "./authenticator.ts";
export { hasLevel, type Principal, reaches } from "./principal.ts";
export {
  createDashboardSessions,
  type DashboardSessions,
  type LoginRows,
  principalNow,
  SESSION_COOKIE,
  sessionCookie,
  sessionToken,
} from "./sessions.ts";
export { createTickets, type TicketHolder, type Tickets } from "./tickets.ts";
