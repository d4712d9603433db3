import { type Fields, GATEWAY_SERVER, isFields, nameOrNull, textOrNull } from "../agent-cli/index.ts";
import { listAllows } from "../mcp-names.ts";

export interface PermissionRules {
  /** Tools of the agent program: all, none, or these; the gateway's own are always allowed. */
  allowTools: boolean | readonly string[];
  /** Names of the gateway's own tools. */
  ownTools: readonly string[];
  /** Names of the tool servers outside the gateway. */
  servers: readonly string[];
  /** Whether the gateway knows the agent program, and so how it names tools. */
  knownProgram: boolean;
}

const ALLOW = ["allow_once", "allow_always"] as const;
const REJECT = ["reject_once", "reject_always"] as const;

/**
 * Answers `session/request_permission`. A tool goes by its programmatic name, or by its kind (`read`, `execute`, …)
 * where the agent gives no name; never by its title, which the model can choose.
 *
 * @param known name of a tool call that was announced before, by its id.
 * @param cancelled the turn is being interrupted, which takes back every question.
 */
export function answerPermission(
  params: Fields,
  rules: PermissionRules,
  known: (toolCallId: string) => string | undefined,
  cancelled: boolean,
): Fields {
  const call = isFields(params.toolCall) ? params.toolCall : {};
  const name = toolName(call) ?? known(textOrNull(call.toolCallId) ?? "") ?? textOrNull(call.kind);
  const options = Array.isArray(params.options) ? params.options.filter(isFields) : [];
  const wanted = mayUse(name, rules) ? ALLOW : REJECT;
  const option = wanted.map((kind) => options.find((one) => one.kind === kind)).find((one) => one);
  return {
    outcome:
      cancelled || typeof option?.optionId !== "string"
        ? { outcome: "cancelled" }
        : { outcome: "selected", optionId: option.optionId },
  };
}

/** The tool's programmatic name; agents older than the field put it into their own `_meta`. */
export function toolName(call: Fields): string | null {
  const meta = isFields(call._meta) ? call._meta : {};
  const claude = isFields(meta.claudeCode) ? meta.claudeCode : {};
  return nameOrNull(call.name) ?? nameOrNull(claude.toolName) ?? nameOrNull(meta.toolName);
}

/** Whether a tool of this name may be used; one without a name only where all may. */
export function mayUse(name: string | null, rules: PermissionRules): boolean {
  const { allowTools, ownTools, servers, knownProgram } = rules;
  if (allowTools === true) return true;
  if (name === null) return false;
  const own = toolOf(GATEWAY_SERVER, name, true);
  if (own !== undefined && ownTools.includes(own)) return true;
  if (!Array.isArray(allowTools)) return false;
  if (listAllows(allowTools, name)) return true;
  return servers.some((server) => {
    // `crm_drop` may be a tool of the program's own.
    const tool = toolOf(server, name, knownProgram);
    return tool !== undefined && listAllows(allowTools, `mcp__${server}__${tool}`);
  });
}

/**
 * The tool of this server that a name means. Agents join a server's name and its tool's in ways of their own:
 * `mcp__gateway__x`, `mcp_gateway_x`, `gateway_x`, `mcp.gateway.x`, `gateway/x`.
 *
 * @param bare whether a name may do without `mcp` in front
 */
function toolOf(server: string, name: string, bare: boolean): string | undefined {
  return new RegExp(`^(?:mcp(?:__?|[./]))${bare ? "?" : ""}${server}(?:__|[_./:-])(.+)$`).exec(name)?.[1];
}
