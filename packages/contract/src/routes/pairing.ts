import * as z from "zod";
import { route } from "../route.ts";
import { pairedRequest, pairedSessions, pairingParams, pairingStatus, ticket } from "../schemas/terminal.ts";

const one = "/cli/:pairingId";
const shared = { auth: "ticket", tag: "terminal", params: pairingParams, errors: ["NOT_FOUND"] } as const;

export const pairingPage = route({
  ...shared,
  method: "GET",
  path: one,
  summary: "The page behind the link that `/cli` sends; looking at it changes nothing.",
  rawReply: "html",
  responses: { 200: null, 404: null },
});

export const bindPairing = route({
  ...shared,
  method: "POST",
  path: `${one}/bind`,
  summary: "Give the link to this browser, with the cookie `cli_pair`; only the first one gets it.",
  responses: { 204: null },
});

export const pairingStatusOf = route({
  ...shared,
  method: "GET",
  path: `${one}/status`,
  summary: "Whether the chat has approved; from then on it sets the cookie `cli_session`.",
  responses: { 200: pairingStatus },
});

export const initPairing = route({
  ...shared,
  method: "POST",
  path: `${one}/init`,
  summary: "Approve with the `initData` that a web app of `botchat` starts with; each is taken once.",
  body: pairedRequest,
  responses: { 204: null },
});

export const pairedView = route({
  ...shared,
  method: "GET",
  path: `${one}/view`,
  summary: "The viewer page.",
  rawReply: "html",
  responses: { 200: null, 404: null },
});

export const pairedSessionsOf = route({
  ...shared,
  method: "GET",
  path: `${one}/sessions`,
  summary: "List the sessions of the agent that the viewer belongs to.",
  responses: { 200: pairedSessions },
});

export const pairedTicket = route({
  ...shared,
  method: "POST",
  path: `${one}/pty-ticket`,
  summary: "Issue a ticket for the terminal of the session `sessionId` of that agent.",
  body: pairedRequest,
  responses: { 200: ticket },
  errors: ["NOT_FOUND", "SESSION_BUSY", "AGENT_FAILED", "CAPACITY", "UNAVAILABLE"],
});

/** Scripts and styles hold no data. */
export const pairingAsset = route({
  method: "GET",
  path: "/cli/assets/*",
  auth: "none",
  summary: "The scripts and styles of these pages.",
  tag: "terminal",
  params: () => z.object({ "*": z.string() }),
  rawReply: "binary",
  responses: { 200: null, 304: null },
  errors: ["NOT_FOUND"],
});
