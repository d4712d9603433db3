import { type ErrorCode, GatewayError, type ReplyOf, routes } from "@agent-gateway/contract";
import { hasLevel } from "../../auth/index.ts";
import type { AgentConfig, Config } from "../../config/index.ts";
import type { Clock } from "../../lib/clock.ts";
import {
  failureOf,
  parseCommand,
  type RunCommand,
  type Sessions,
  type Turn,
  type TurnResult,
} from "../../sessions/index.ts";
import { type Endpoint, endpoint, json, type RequestContext } from "../endpoint.ts";
import { streamTurn } from "../sse.ts";

export interface MessageDeps {
  sessions: Sessions;
  runCommand: RunCommand;
  /** Throws `AGENT_NOT_FOUND`. */
  requireAgent(agentId: string): AgentConfig;
  config: () => Config;
  clock: Clock;
  onReader(delta: 1 | -1): void;
  /** Throws while no new data may be stored. */
  takeSpace(): void;
  /** Takes one of the key's event stream slots. */
  takeStream(keyId: string): Disposable;
}

/** A greeting request has no timeout of its own; it gets the messages' default. */
const GREETING_SOFT_MS = 60_000;

const errorOf = (turn: Turn, code: ErrorCode, message: string) =>
  new GatewayError(code, message, { extra: { session_id: turn.sessionId } });

export function messageRoutes(deps: MessageDeps): Endpoint[] {
  const { sessions, clock } = deps;
  const timing = () => deps.config().gateway.turns;
  const agentOf = (id: string) => deps.requireAgent(id);

  const stream = async (context: Pick<RequestContext, "res">, turn: Turn, budgetMs?: number) => {
    await streamTurn(context.res, turn.log, {
      clock,
      keepaliveMs: timing().keepaliveMs,
      onReader: deps.onReader,
      ...(budgetMs !== undefined && {
        budget: {
          ms: budgetMs,
          event: {
            type: "error",
            code: "TIMEOUT_SOFT",
            message: "The agent is still working; its reply will be in the history.",
          } as const,
        },
      }),
    });
    return { handled: true } as const;
  };

  /** The stored id of a chat; also accepts a caller's own `chat_id` if it names the session's chat. */
  const storedChatId = async (agentId: string, chatId: string, sessionId: string): Promise<string> => {
    if (await sessions.find(agentId, chatId, sessionId)) return chatId;
    return (await sessions.find(agentId, `api-${chatId}`, sessionId)) ? `api-${chatId}` : chatId;
  };

  /** Resolves to the turn's result, or to undefined after `timeoutMs`; the turn continues. */
  const resultWithin = (turn: Turn, timeoutMs: number): Promise<TurnResult | undefined> =>
    new Promise((resolve) => {
      const cancel = clock.after(timeoutMs, () => resolve(undefined));
      void turn.done.then((result) => {
        cancel();
        resolve(result);
      });
    });

  /** Waits for the whole reply; 504 when it takes longer. */
  const wholeReply = async (turn: Turn, timeoutMs: number): Promise<ReplyOf<typeof routes.sendMessage>> => {
    const result = await resultWithin(turn, timeoutMs);
    if (!result) {
      throw errorOf(
        turn,
        "TIMEOUT",
        [
          "The agent did not answer in time; it is still working, and its stream can be read.",
          turn.log.trouble,
        ]
          .filter(Boolean)
          .join(" "),
      );
    }
    const failure = failureOf(result);
    if (failure) throw errorOf(turn, failure.code, failure.message);
    return {
      request_id: turn.requestId,
      agent_id: turn.agentId,
      response: result.text,
      session_id: turn.sessionId,
      duration_ms: result.durationMs,
      usage: result.usage!,
      ...(result.status === "interrupted" && { interrupted: true as const }),
      ...(!result.stored && { stored: false as const }),
      ...(result.attachments.length > 0 && { attachments: result.attachments }),
    };
  };

  return [
    endpoint(routes.sendMessage, async (context) => {
      const { body, principal, requestId } = context;
      const agent = agentOf(context.params.agentId);
      const command = parseCommand(body.message);
      if (!body.store_user_message && !hasLevel(principal, "write")) {
        throw new GatewayError("FORBIDDEN", "store_user_message: false requires a write or admin key.");
      }
      const chatId = `api-${body.chat_id}`;
      if (command)
        return json(
          await deps.runCommand(agent, chatId, body.session_id, command, { keyId: principal.keyId }),
        );
      // Commands stay allowed: they are how an owner frees space.
      deps.takeSpace();
      using _place = body.stream ? deps.takeStream(principal.id) : undefined;
      const turn = await sessions.send({
        agent,
        requestId,
        chatId,
        sessionId: body.session_id,
        text: body.message,
        mediaFiles: body.media_files,
        storeUserMessage: body.store_user_message,
        imageParams: compact(body.image_params),
        videoParams: compact(body.video_params),
        keyId: principal.keyId,
        softMs: body.timeout_ms,
      });
      if (!body.stream) return json(await wholeReply(turn, body.timeout_ms));
      const cancel = clock.after(body.timeout_ms, () =>
        turn.log.append({
          type: "timeout",
          message: "The agent is still working; the stream stays open.",
          resumable: true,
        }),
      );
      void turn.done.then(cancel);
      return await stream(context, turn);
    }),

    endpoint(routes.greet, async (context) => {
      const agent = agentOf(context.params.agentId);
      const { chat_id, session_id } = context.body;
      using _place = deps.takeStream(context.principal.id);
      const turn = await sessions.greet(
        agent,
        `api-${chat_id}`,
        session_id,
        context.requestId,
        GREETING_SOFT_MS,
        context.principal.keyId,
      );
      return turn ? await stream(context, turn) : { status: 204, empty: true };
    }),

    endpoint(routes.inject, async (context) => {
      const { agentId, sessionId } = context.params;
      const chatId = await storedChatId(agentId, context.params.chatId, sessionId);
      const budgetMs = timing().injectionMs;
      using _place = deps.takeStream(context.principal.id);
      const turn = await sessions.send({
        agent: agentOf(agentId),
        requestId: context.requestId,
        chatId,
        sessionId,
        text: context.body.content,
        senderName: context.body.senderName,
        softMs: budgetMs,
        kind: "injection",
        keyId: context.principal.keyId,
      });
      return await stream(context, turn, budgetMs);
    }),
  ];
}

/** Drops fields without a value; undefined when none are left. */
function compact(params: Record<string, unknown> | undefined): Record<string, unknown> | undefined {
  const entries = Object.entries(params ?? {}).filter(([, value]) => value !== undefined);
  return entries.length > 0 ? Object.fromEntries(entries) : undefined;
}
