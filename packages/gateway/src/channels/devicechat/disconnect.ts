/** How a socket ended. */
export type Ending =
  | { kind: "restart" }
  | { kind: "logged-out" }
  /** No phone took one of the QR codes that the provider gave out for this connection. */
  | { kind: "qr-spent" }
  | { kind: "broken"; reason: string };

interface Boom {
  message?: unknown;
  output?: { statusCode?: unknown };
}

/** Sentences for the codes that the provider and the library end a connection with (`DisconnectReason`). */
const REASONS: Readonly<Record<number, string>> = {
  403: "WhatsApp refuses this account.",
  405: "WhatsApp requires a newer client than this gateway has.",
  408: "The connection to WhatsApp was lost.",
  411: "The phone's WhatsApp does not support linked devices; update it.",
  428: "WhatsApp closed the connection.",
  440: "Another program uses this linked device; stop it, or unlink the account and link it again.",
  500: "WhatsApp rejected this session.",
  503: "WhatsApp is currently unavailable.",
};

/** What the error that ended a connection means. */
export function endingOf(error: unknown): Ending {
  const { message, output } = (error ?? {}) as Boom;
  const code = Number(output?.statusCode);
  if (code === 515) return { kind: "restart" };
  if (code === 401) return { kind: "logged-out" };
  if (code === 408 && message === "QR refs attempts ended") return { kind: "qr-spent" };
  if (typeof message === "string" && message.startsWith("WebSocket Error")) {
    return { kind: "broken", reason: "WhatsApp cannot be reached." };
  }
  return { kind: "broken", reason: REASONS[code] ?? "The connection to WhatsApp broke." };
}
