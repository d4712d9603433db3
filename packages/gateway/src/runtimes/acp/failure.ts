import { type Fields, isFields, safeSentence, textOrNull } from "../agent-cli/index.ts";
import { failureIn } from "../upstream.ts";
import type { RpcAnswer } from "./json-rpc.ts";

/** The protocol's code for an agent that requires a login. */
export const AUTHENTICATION_REQUIRED = -32000;
/** Names of JSON-RPC codes that SDKs put before, or instead of, the actual error. */
const CODE_NAME = /^(?:Internal error|Invalid params|Invalid request|Resource not found)(?::\s*|$)/i;

const NOT_SIGNED_IN = "The agent is not signed in: it needs a login or a key.";

/** The agent requires a login, which the gateway cannot perform for it. */
export class NotSignedIn extends Error {}

/** What agents write to stderr when they are not logged in. */
const LOGIN_HINT =
  /not (?:signed|logged) in|sign in|log ?in\b|authenticat|api[ _-]?key|unauthorized|credential/i;
/** An escape sequence of a terminal. */
const ESCAPES = new RegExp(`${String.fromCharCode(27)}\\[[0-9;?]*[A-Za-z]`, "g");

/** The line of stderr that says what the login is missing. */
function loginHint(stderr: string): string | null {
  const lines = stderr.slice(-8192).replaceAll(ESCAPES, "").split("\n");
  return lines.map((line) => line.trim()).findLast((line) => LOGIN_HINT.test(line)) ?? null;
}

/** A failed start, with the agent's stderr hint about a login. */
export function startFailure(error: unknown, stderr: string): unknown {
  if (!(error instanceof Error)) return error;
  const hint = loginHint(stderr);
  const said = hint === null ? "" : safeSentence(hint, "");
  if (said === "" || error.message.includes(said)) return error;
  return new Error(`${error.message.replace(/[.:]\s*$/, "")}: ${said}`, { cause: error });
}

/** One sentence about an agent that requires a login, with the methods it offers, in its own words. */
export function notSignedIn(methods: readonly Fields[]): NotSignedIn {
  const offers = methods
    .slice(0, 4)
    .map((method) => safeSentence(textOrNull(method.description) ?? textOrNull(method.name) ?? "", ""))
    .filter((offer) => offer !== "");
  if (offers.length === 0) return new NotSignedIn(NOT_SIGNED_IN);
  const how = offers.join("; or: ").replace(/\.$/, "");
  return new NotSignedIn(`The agent is not signed in. As the user that runs the gateway: ${how}.`);
}

export const PROCESS_ENDED = "The agent process ended unexpectedly.";

/** User-facing message for a failed request. */
export function describeFailure(answer: Exclude<RpcAnswer, { type: "result" }>, waitedMs = 0): string {
  switch (answer.type) {
    case "closed":
      return PROCESS_ENDED;
    case "timeout":
      return `The agent did not answer within ${Math.round(waitedMs / 1000)} seconds.`;
    case "error": {
      if (answer.code === AUTHENTICATION_REQUIRED) return NOT_SIGNED_IN;
      const message = answer.message.replace(CODE_NAME, "");
      const said = message || detailsOf(answer.data);
      return failureIn(said) ?? safeSentence(said, "The agent reported an error.");
    }
  }
}

function detailsOf(data: unknown): string {
  if (!isFields(data)) return textOrNull(data) ?? "";
  return textOrNull(data.details) ?? textOrNull(data.message) ?? "";
}
