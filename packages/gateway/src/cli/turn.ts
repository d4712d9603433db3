import { GatewayError, isFinal, type RouteName, readTurn, type TurnFrame } from "@agent-gateway/contract";
import { sleep, systemClock } from "../lib/clock.ts";
import type { Connection } from "./connection.ts";
import { describeFailure, Interrupted } from "./errors.ts";
import { note, print, printable, printJson, showReply } from "./output.ts";
import type { RouteInput } from "./request.ts";

const RECONNECT_MS = 30_000;
const MAX_PAUSE_MS = 3_000;
/** How long to wait for the end of the turn after Ctrl-C. */
const STOP_MS = 5_000;
/** A Node.js that forwards signals to its child turns one Ctrl-C into two. */
const SAME_PRESS_MS = 500;
/** How many of a chat's sessions to search for a turn whose session is not known. */
const MAX_SESSIONS = 10;

/** Where a turn runs, so that it can be resumed or stopped. */
interface Place {
  connection: Connection;
  agentId: string;
  /** As the session routes take it; undefined for a channel's chat, which has none. */
  chatId: string | undefined;
  sessionId: string | undefined;
  requestId: string;
}

/** From the request that started the turn. */
function placeOf(connection: Connection, input: RouteInput, response: Response): Place {
  const { params, query, body } = input;
  const stored = params.chatId;
  const chat = stored === undefined ? (body?.chat_id ?? query.chat_id) : /^api-(.+)$/.exec(stored)?.[1];
  const session = params.sessionId ?? body?.session_id;
  return {
    connection,
    agentId: params.agentId ?? "",
    chatId: typeof chat === "string" ? chat : undefined,
    sessionId: typeof session === "string" ? session : undefined,
    requestId: response.headers.get("x-request-id") ?? "",
  };
}

const readAgain = ({ connection, agentId, chatId, requestId }: Place, sessionId: string, after: number) =>
  connection.call("streamSession", {
    params: { agentId, sessionId },
    query: { chat_id: chatId, request_id: requestId, after_seq: String(after) },
  });

/** Opens the turn's stream after an event. A session that was just created is found by its turn. */
async function reopen(place: Place, after: number): Promise<Response> {
  if (place.sessionId !== undefined) return readAgain(place, place.sessionId, after);
  const { connection, agentId, chatId } = place;
  const reply = await connection.call("listSessions", { params: { agentId }, query: { chat_id: chatId } });
  const { sessions } = (await reply.json()) as { sessions: { id: string }[] };
  for (const { id } of sessions.slice(0, MAX_SESSIONS)) {
    const response = await readAgain(place, id, after).catch((error: unknown) => {
      if (error instanceof GatewayError && (error.status === 410 || error.status === 404)) return null;
      throw error;
    });
    if (!response) continue;
    place.sessionId = id;
    return response;
  }
  throw new GatewayError(
    "TURN_GONE",
    "The connection was lost, and the turn is no longer available; see the history.",
  );
}

const isRefusal = (error: unknown) => error instanceof GatewayError && error.code !== "UPSTREAM_UNAVAILABLE";

async function reconnect(place: Place, after: number, broken: unknown): Promise<Response> {
  const deadline = Date.now() + RECONNECT_MS;
  for (let pause = 200; ; pause = Math.min(pause * 2, MAX_PAUSE_MS)) {
    try {
      return await reopen(place, after);
    } catch (error) {
      if (isRefusal(error)) throw error;
      if (Date.now() + pause > deadline) throw broken;
    }
    // The clock's timers do not keep a process alive; this one must.
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

/** The frames of a turn to its end, over as many connections as it takes. */
async function* frames(place: Place, first: Response): AsyncGenerator<TurnFrame, void> {
  let response = first;
  let seq = 0;
  for (;;) {
    try {
      for await (const frame of readTurn(response)) {
        seq = frame.seq;
        place.requestId ||= frame.request_id;
        yield frame;
        if (isFinal(frame)) return;
      }
      return;
    } catch (error) {
      if (isRefusal(error) || place.chatId === undefined || place.requestId === "") throw error;
      note("Connection lost; resuming …");
      response = await reconnect(place, seq, error);
    }
  }
}

async function stop(place: Place, seq: number): Promise<boolean> {
  if (place.chatId === undefined) return false;
  if (place.sessionId === undefined) await (await reopen(place, seq)).body?.cancel();
  const { connection, agentId, chatId, sessionId } = place;
  await connection.call("stopSession", {
    params: { agentId, sessionId: sessionId! },
    body: { chat_id: chatId },
  });
  return true;
}

/** Writes a turn for people: its text to stdout, everything else to stderr. */
function createWriter() {
  let atLineStart = true;
  let wrote = false;
  const text = async (piece: string) => {
    if (piece === "") return;
    const shown = printable(piece);
    wrote = true;
    atLineStart = shown.endsWith("\n");
    await print(shown);
  };
  const remark = async (line: string) => {
    if (!atLineStart && process.stdout.isTTY) await text("\n");
    note(line);
  };
  return {
    async show(frame: TurnFrame): Promise<void> {
      switch (frame.type) {
        case "text_delta":
          return text(frame.text);
        case "thinking":
          return remark(frame.text.trimEnd());
        case "tool_use":
          return remark(`[uses ${frame.name}]`);
        case "tool_result":
          return frame.is_error ? remark("[the tool failed]") : undefined;
        case "retry":
          return remark(`[${frame.message} Trying again, ${frame.attempt} of ${frame.of}.]`);
        case "attachment":
          return remark(`[${frame.attachment.name ?? frame.attachment.type} ${frame.attachment.url}]`);
        case "timeout":
          return remark(`[${frame.message}]`);
        case "result":
          if (!wrote) await text(frame.text);
          if (!atLineStart) await text("\n");
          return remark(`[session ${frame.session_id}${frame.interrupted ? ", interrupted" : ""}]`);
        case "error":
          if (!atLineStart) await text("\n");
      }
    },
  };
}

export interface TurnOptions {
  connection: Connection;
  route: RouteName;
  input: RouteInput;
  json: boolean;
}

/**
 * Shows a streamed turn as it arrives. Ctrl-C stops the turn, unless it is only being watched.
 * @returns the exit code
 * @throws Interrupted after Ctrl-C
 */
export async function runTurn({ connection, route, input, json }: TurnOptions): Promise<number> {
  const response = await connection.call(route, { ...input, headers: { accept: "text/event-stream" } });
  if (response.status === 204) {
    if (json) await printJson(null);
    else note("There is no greeting.");
    return 0;
  }
  if (!response.headers.get("content-type")?.startsWith("text/event-stream")) {
    // A slash command answers at once.
    await showReply(await response.json(), json);
    return 0;
  }
  const place = placeOf(connection, input, response);
  const writer = createWriter();
  let seq = 0;
  let pressed = 0;
  let leave: (error: Interrupted) => void = () => {};
  const left = new Promise<never>((_, reject) => {
    leave = reject;
  });
  left.catch(() => {});
  const onInterrupt = () => {
    if (pressed > 0 && Date.now() - pressed < SAME_PRESS_MS) return;
    if (pressed > 0 || route === "streamSession") return leave(new Interrupted());
    pressed = Date.now();
    note("stopping …");
    void sleep(systemClock, STOP_MS).then(() => leave(new Interrupted()));
    stop(place, seq).then(
      (stopped) => stopped || leave(new Interrupted()),
      (error: unknown) => {
        note(describeFailure(error));
        leave(new Interrupted());
      },
    );
  };
  process.on("SIGINT", onInterrupt);
  try {
    const stream = frames(place, response);
    for (;;) {
      const { done, value: frame } = await Promise.race([stream.next(), left]);
      if (done) throw new GatewayError("UPSTREAM_UNAVAILABLE", "The stream ended without a result.");
      seq = frame.seq;
      if (!json) await writer.show(frame);
      if (!isFinal(frame)) continue;
      if (json) await printJson(frame);
      if (pressed > 0) throw new Interrupted();
      if (frame.type !== "error") return 0;
      process.stderr.write(
        `${printable(frame.message, process.stderr)}${frame.code ? ` (${frame.code})` : ""}\n`,
      );
      return 1;
    }
  } finally {
    process.off("SIGINT", onInterrupt);
  }
}
