import type { Logger } from "../../lib/logger.ts";
import { type Fields, isFields, nameOrNull } from "../agent-cli/index.ts";
import { toolTitle } from "../tool-text.ts";
import type { OpenOptions } from "../types.ts";
import { AUTHENTICATION_REQUIRED, describeFailure, notSignedIn } from "./failure.ts";
import type { RpcAnswer, RpcPeer } from "./json-rpc.ts";

const PROTOCOL_VERSION = 1;
const INITIALIZE_MS = 30_000;
/** An agent may start further programs for a session, on a machine that is busy starting others. */
const SESSION_MS = 60_000;

/** What the agent can do, from its answer to `initialize`. */
export interface AgentTraits {
  /** As it introduces itself; null when it does not. */
  name: string | null;
  version: string | null;
  images: boolean;
  /** Transports by which the agent reaches tool servers, apart from programs that it starts. */
  mcp: { http: boolean; sse: boolean };
  loadSession: boolean;
  /** Login methods that the agent offers. */
  authMethods: readonly Fields[];
  /** Resumes a session without replaying it. */
  resumeSession: boolean;
}

export interface AgentSession {
  id: string;
  resumed: boolean;
  /** The answer that opened it: how models are chosen, among others. */
  result: Fields;
}

/** More ways to sign in than any agent offers. */
const MAX_METHODS = 20;

/** What matters of a way to sign in, which is kept as long as the session. */
function authMethod(method: unknown): Fields[] {
  if (!isFields(method)) return [];
  const { id, type, name, description } = method;
  return [
    {
      id: nameOrNull(id),
      type: nameOrNull(type),
      name: toolTitle(name),
      description: toolTitle(description),
    },
  ];
}

/** @throws Error with one sentence when the agent does not answer, or not in this protocol. */
export async function initialize(rpc: RpcPeer, log: Logger): Promise<AgentTraits> {
  const answer = await rpc.request(
    "initialize",
    {
      protocolVersion: PROTOCOL_VERSION,
      clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
      clientInfo: { name: "agent-gateway", title: "Agent Gateway", version: "1.0.0" },
    },
    { timeoutMs: INITIALIZE_MS },
  );
  const result = resultOf(answer, INITIALIZE_MS);
  if (result.protocolVersion !== PROTOCOL_VERSION) {
    throw new Error(`The agent does not speak version ${PROTOCOL_VERSION} of the Agent Client Protocol.`);
  }
  const info = isFields(result.agentInfo) ? result.agentInfo : {};
  const [name, version] = [nameOrNull(info.name), nameOrNull(info.version)];
  log.info({ agentName: name, version }, "agent program is ready");
  const can = section(result, "agentCapabilities");
  const mcp = section(can, "mcpCapabilities");
  return {
    name,
    version,
    images: section(can, "promptCapabilities").image === true,
    mcp: { http: mcp.http === true, sse: mcp.sse === true },
    authMethods: Array.isArray(result.authMethods)
      ? result.authMethods.flatMap(authMethod).slice(0, MAX_METHODS)
      : [],
    loadSession: can.loadSession === true,
    resumeSession: isFields(section(can, "sessionCapabilities").resume),
  };
}

/**
 * Resumes the conversation that `resume` names, or starts a new one if there is none or the agent does not know it.
 * @throws Error with one sentence when the agent opens none.
 */
export async function openSession(
  rpc: RpcPeer,
  traits: AgentTraits,
  options: Pick<OpenOptions, "cwd" | "resume" | "log">,
  mcpServers: readonly Fields[],
  meta?: Fields,
): Promise<AgentSession> {
  const { cwd, resume, log } = options;
  const about = { cwd, mcpServers, ...(meta && { _meta: meta }) };
  const method = traits.loadSession ? "session/load" : traits.resumeSession ? "session/resume" : null;
  if (resume !== undefined && method !== null) {
    const answer = await rpc.request(method, { sessionId: resume, ...about }, { timeoutMs: SESSION_MS });
    if (answer.type !== "error") {
      return { id: resume, resumed: true, result: resultOf(answer, SESSION_MS) };
    }
    log.info({ code: answer.code }, "could not resume the conversation; starting a new one");
  }
  const create = () => rpc.request("session/new", about, { timeoutMs: SESSION_MS });
  let answer = await create();
  if (wantsLogin(answer)) {
    if (await signIn(rpc, traits, log)) answer = await create();
    if (wantsLogin(answer)) throw notSignedIn(traits.authMethods);
  }
  const result = resultOf(answer, SESSION_MS);
  const id = nameOrNull(result.sessionId);
  if (id === null) throw new Error("The agent did not open a session.");
  return { id, resumed: false, result };
}

const wantsLogin = (answer: RpcAnswer) => answer.type === "error" && answer.code === AUTHENTICATION_REQUIRED;

/** Login methods that only read a key from the agent's environment; any other waits for a person. */
const BY_KEY = /api[-_ ]?key|^(?:openai|anthropic|gemini|vertex-ai)$/i;
const SIGN_IN_MS = 10_000;

/** Logs in with a key from the agent's environment; false if no such method is offered, or it fails. */
async function signIn(rpc: RpcPeer, { authMethods }: AgentTraits, log: Logger): Promise<boolean> {
  const method = authMethods.find(
    ({ id, type }) => typeof id === "string" && type !== "terminal" && BY_KEY.test(id),
  );
  if (!method) return false;
  const answer = await rpc.request("authenticate", { methodId: method.id }, { timeoutMs: SIGN_IN_MS });
  log.info({ method: method.id, outcome: answer.type }, "asked the agent to sign in");
  return answer.type === "result";
}

function resultOf(answer: RpcAnswer, waitedMs: number): Fields {
  if (answer.type === "result") return answer.value;
  throw new Error(
    answer.type === "closed"
      ? "The agent program ended before it was ready."
      : describeFailure(answer, waitedMs),
  );
}

function section(from: Fields, name: string): Fields {
  const value = from[name];
  return isFields(value) ? value : {};
}
