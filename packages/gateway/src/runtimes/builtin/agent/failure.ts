import { APICallError, UnsupportedFunctionalityError } from "ai";
import { upstreamFailure } from "../../upstream.ts";

export interface Failure {
  /** For the user: no address, no key, nothing of what the provider wrote. */
  sentence: string;
  /** For the log. */
  detail: string;
  /** The conversation did not fit into the model's context. */
  overflow: boolean;
}

const OVERFLOW = /context.{0,20}(length|window|size)|too long|maximum.{0,40}tokens|too many (input )?tokens/i;
const MAX_DETAIL = 500;

/** Describes a failed model request in one sentence. */
export function describeFailure(error: unknown, model: string): Failure {
  const message = error instanceof Error ? error.message : String(error);
  const status = APICallError.isInstance(error) ? error.statusCode : undefined;
  const body = APICallError.isInstance(error) ? (error.responseBody ?? "") : "";
  const overflow = status === 413 || (isClientError(status) && OVERFLOW.test(`${message} ${body}`));
  return {
    sentence: overflow
      ? "The conversation is too long for the model; use /compact or /clear to make room."
      : sentenceFor(error, status, model),
    detail: (status === undefined ? message : `${status}: ${message}`).slice(0, MAX_DETAIL),
    overflow,
  };
}

const isClientError = (status: number | undefined) => status === 400 || status === 422;

function sentenceFor(error: unknown, status: number | undefined, model: string): string {
  if (UnsupportedFunctionalityError.isInstance(error))
    return "The model does not accept this kind of content.";
  if (status === undefined) {
    return APICallError.isInstance(error)
      ? "The model provider could not be reached."
      : "The model provider's answer was cut off or could not be read.";
  }
  if (status === 404) return `The model provider does not have the model ${model} (404).`;
  return upstreamFailure(status) ?? `The model provider refused the request (${status}).`;
}
