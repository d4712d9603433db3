import type { BinaryNode } from "baileys";
import type { Clock } from "../../lib/clock.ts";
import { deadline } from "../support/exchange.ts";
import type { Outgoing, SendOutcome } from "../types.ts";
import { contentOf, messageIdOf, quotedBy } from "./compose.ts";
import type { DeviceSocket } from "./socket.ts";

/** Ends a little before the 60 s that delivery grants an attempt. */
const ATTEMPT_MS = 55_000;
/** The provider confirms what it took within a second or so; a chat is not held up for longer. */
const ANSWER_MS = 20_000;
/** An attempt that found no connection is repeated this soon: the connection may be back in a moment. */
const RECONNECTED_MS = 2_000;
const NOT_CONNECTED = "The linked device is not connected.";
const UNCERTAIN = "WhatsApp did not confirm the message, so it may or may not have arrived.";

interface Failure {
  message?: unknown;
  code?: unknown;
  /** Code of the provider's answer to a question on the way. */
  data?: unknown;
  output?: { statusCode?: unknown };
}

/** The moment before a message is written, after all the questions that sending it needs. */
interface Gate {
  /** Handed to the library as the message's further parts: it reads them when the message is complete. */
  readonly nodes: BinaryNode[];
  readonly passed: boolean;
  /** From now on nothing is written. */
  close(): void;
}

function createGate(begin: () => void): Gate {
  let passed = false;
  let closed = false;
  const nodes: BinaryNode[] = new Array(1);
  nodes[Symbol.iterator] = () => {
    if (closed) throw new Error("too late to send");
    begin();
    passed = true;
    return [][Symbol.iterator]();
  };
  return {
    nodes,
    get passed() {
      return passed;
    },
    close() {
      closed = true;
    },
  };
}

/** Outcome of a message that failed before it was written. */
function notWritten(error: unknown): SendOutcome {
  const { code, data } = (error ?? {}) as Failure;
  if (code === "ENOENT" || code === "EACCES" || code === "EISDIR") {
    return { status: "failed", reason: "Could not read the file." };
  }
  const status = typeof data === "number" ? data : 0;
  if (status >= 400 && status < 500 && status !== 408 && status !== 429) {
    return { status: "failed", reason: `WhatsApp refused the recipient (${status}).` };
  }
  return { status: "retry", reason: "WhatsApp failed before it accepted the message." };
}

/** Interprets the provider's response to a message. */
function answered({ tag, attrs }: BinaryNode, messageId: string): SendOutcome {
  const code = tag === "ack" ? Number(attrs.error) : Number.NaN;
  // A receipt from the recipient's phone also proves that the provider accepted it.
  if (!attrs.error || tag !== "ack") return { status: "sent", messageId };
  if (code === 429 || code >= 500)
    return { status: "retry", reason: `WhatsApp did not accept the message (${code}).` };
  return {
    status: "failed",
    reason:
      code === 463
        ? "WhatsApp does not let this number write to someone who has not written first."
        : `WhatsApp refused the message (${attrs.error}).`,
  };
}

const notConnected = (): SendOutcome => ({
  status: "retry",
  reason: NOT_CONNECTED,
  afterMs: RECONNECTED_MS,
});

/** One attempt over an open connection; without one it is `retry`. */
export async function send(
  socket: DeviceSocket | undefined,
  outgoing: Outgoing,
  clock: Clock,
  signal: AbortSignal,
): Promise<SendOutcome> {
  if (!socket?.isOpen) return notConnected();
  const { sock, library } = socket;
  const jid = outgoing.target.chatId;
  const messageId = messageIdOf(outgoing.key);
  const gate = createGate(outgoing.begin);
  const limit = deadline(clock, ATTEMPT_MS, AbortSignal.any([signal, socket.over]));

  const { promise: ended, resolve: end } = Promise.withResolvers<"ended">();
  const { promise: answer, resolve: take } = Promise.withResolvers<BinaryNode>();
  const onEnd = () => end("ended");
  let stopWaiting = () => {};
  limit.signal.addEventListener("abort", onEnd, { once: true });
  // The library resolves when the message is written, not when the provider has it.
  sock.ws.on(`TAG:${messageId}`, take);

  const relay = async (): Promise<void> => {
    const quoted = quotedBy(outgoing.target);
    const { message } = await library.generateWAMessage(jid, contentOf(outgoing.content), {
      userJid: sock.user?.id ?? "",
      upload: sock.waUploadToServer,
      messageId,
      ...(quoted && { quoted }),
    });
    if (!message) throw new Error("nothing to send");
    socket.remember(messageId, message);
    await sock.relayMessage(jid, message, { messageId, additionalNodes: gate.nodes });
  };

  try {
    const relaying = relay();
    relaying.catch(() => {});
    const written = await Promise.race([relaying, ended]);
    if (written === "ended") {
      gate.close();
      if (gate.passed) return { status: "unknown", reason: UNCERTAIN };
      return socket.isOpen ? { status: "retry", reason: "Sending took too long." } : notConnected();
    }
    stopWaiting = clock.after(ANSWER_MS, onEnd);
    const said = await Promise.race([answer, ended]);
    return said === "ended" ? { status: "unknown", reason: UNCERTAIN } : answered(said, messageId);
  } catch (error) {
    if (!gate.passed) return notWritten(error);
    // The library refuses to write to a line that is down; any other failure comes after it wrote.
    const refused = (error as Failure).output?.statusCode === 428;
    return refused ? notConnected() : { status: "unknown", reason: UNCERTAIN };
  } finally {
    stopWaiting();
    sock.ws.off(`TAG:${messageId}`, take);
    limit.signal.removeEventListener("abort", onEnd);
    limit.end();
  }
}
