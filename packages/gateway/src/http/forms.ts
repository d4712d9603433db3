import { DONE, type GatewayError, type WireForm } from "@agent-gateway/contract";
import { errorBody } from "./errors.ts";

type Json = Record<string, unknown>;

/** How the errors of a route look on the wire. */
interface ErrorForm {
  body(error: GatewayError, requestId: string): Json;
  /** Data of the frame with which a stream ends early. */
  frame(error: GatewayError, requestId: string): Json;
  /** Sent besides the error's own headers. */
  headers?(error: GatewayError): Record<string, string>;
}

/** `type` of an error of the OpenAI API. */
function openAiType(status: number): string {
  if (status === 401) return "authentication_error";
  if (status === 403) return "permission_error";
  if (status === 429) return "rate_limit_error";
  return status >= 500 ? "server_error" : "invalid_request_error";
}

/** https://platform.openai.com/docs/guides/error-codes; the gateway's own fields stand beside `error`. */
function openAiBody(error: GatewayError, requestId: string): Json {
  const { error: message, ...rest } = errorBody(error, requestId);
  const [param] = error.details?.[0]?.path.split(".") ?? [];
  return {
    ...rest,
    error: { message, type: openAiType(error.status), param: param || null, code: error.code },
  };
}

const FORMS: Readonly<Record<WireForm, ErrorForm>> = {
  gateway: {
    body: errorBody,
    frame: (error, requestId) => ({
      type: "error",
      message: error.message,
      code: error.code,
      request_id: requestId,
    }),
  },
  openai: {
    body: openAiBody,
    frame: (error, requestId) => ({ error: openAiBody(error, requestId).error }),
    // Its clients repeat every 409 on their own, and a conflict does not pass that quickly.
    headers: ({ status }): Record<string, string> => (status === 409 ? { "x-should-retry": "false" } : {}),
  },
};

/** Body and headers of an error reply. */
export function errorReply(error: GatewayError, requestId: string, form: WireForm = "gateway") {
  const { body, headers } = FORMS[form];
  return { body: body(error, requestId), headers: { ...error.headers, ...headers?.(error) } };
}

/** The frames that end a stream early. */
export function errorFrames(error: GatewayError, requestId: string, form: WireForm = "gateway"): string {
  return `data: ${JSON.stringify(FORMS[form].frame(error, requestId))}\n\ndata: ${DONE}\n\n`;
}
