import { join } from "node:path";
import { openRoot } from "../../lib/guarded/index.ts";
import { type Fields, GATEWAY_SERVER, isFields } from "../agent-cli/index.ts";
import type { LimitRequest, Limits } from "./limit-request.ts";

/**
 * opencode keeps what is denied from the model. Each tool is named beside the wildcard, because the user's own
 * settings name some, and the more specific rule wins.
 */
export async function limitOpencode({ allowed, external, env }: LimitRequest): Promise<Limits> {
  const asked = allowed.map((name) => (/^(?:write|edit|patch|multiedit)$/.test(name) ? "edit" : name));
  const permission: Record<string, string> = { "*": "deny" };
  for (const name of OPENCODE_TOOLS) permission[name] = "deny";
  // These come with the call of a tool, and are answered by that tool's name.
  if (asked.length > 0) for (const name of ["external_directory", "doom_loop"]) permission[name] = "ask";
  for (const name of asked) permission[name] = "ask";
  for (const name of external) permission[namedByServer(name)] = "ask";
  permission[`${GATEWAY_SERVER}_*`] = "allow";
  const agents = ["build", "plan", "general", "explore"].map((name) => [name, { permission }]);
  return {
    env: {
      OPENCODE_PERMISSION: JSON.stringify(permission),
      OPENCODE_CONFIG_CONTENT: JSON.stringify(
        withAgents(parse(env.OPENCODE_CONFIG_CONTENT), Object.fromEntries(agents)),
      ),
      // A file in the workspace could add tools and start programs.
      OPENCODE_DISABLE_PROJECT_CONFIG: "1",
    },
  };
}

const OPENCODE_TOOLS =
  "bash edit read glob grep list lsp task skill todowrite todoread webfetch websearch codesearch question".split(
    " ",
  );

function withAgents(config: Fields, agents: Fields): Fields {
  return { ...config, agent: { ...(isFields(config.agent) ? config.agent : {}), ...agents } };
}

/** `server_tool`, or `server_*` for all of a server's, from `mcp__server__tool`. */
function namedByServer(name: string): string {
  const [, server, tool = "*"] = name.split("__");
  return `${server}_${tool}`;
}

const isWhole = (name: string) => name.split("__").length < 3;
const ONE_BY_ONE =
  "Gemini CLI cannot be allowed all tools of a connector: name each in allowTools, as mcp__<slug>__<tool>.";

/** Gemini CLI keeps what an administrator's policy denies from the model. */
export async function limitGemini({ allowed, external, ownTools, dir }: LimitRequest): Promise<Limits> {
  const rule = (priority: number, decision: string, tool: string) =>
    [
      "[[rule]]",
      `toolName = ${JSON.stringify(tool)}`,
      `decision = "${decision}"`,
      `priority = ${priority}`,
    ].join("\n");
  const single = external.filter((name) => !isWhole(name));
  const rules = [
    rule(900, "deny", "*"),
    // A rule for a whole server does not hold at the call itself (0.61).
    ...ownTools.map((name) => rule(910, "allow", `mcp_${GATEWAY_SERVER}_${name}`)),
    ...allowed.map((name) => rule(920, "ask_user", name)),
    ...single.map((name) => rule(920, "ask_user", `mcp_${namedByServer(name)}`)),
  ];
  const name = "gemini-policy.toml";
  await using folder = await openRoot(dir, { create: true });
  await folder.write(name, `${rules.join("\n\n")}\n`);
  const file = join(dir, name);
  return {
    without: ["--yolo", "-y", "--approval-mode", "--allowed-tools", "--admin-policy", "--policy"],
    args: ["--admin-policy", file, "--approval-mode", "default"],
    ...(single.length < external.length && { warning: ONE_BY_ONE }),
  };
}

/** Qwen Code registers only the named core tools; some tools of its own come from elsewhere and are taken out. */
export async function limitQwen({ allowed }: LimitRequest): Promise<Limits> {
  const excluded = QWEN_EXTRAS.filter((name) => !allowed.includes(name));
  return {
    without: ["--yolo", "-y", "--approval-mode", "--allowed-tools", "--core-tools", "--exclude-tools"],
    args: [
      `--core-tools=${allowed.length === 0 ? "none" : allowed.join(",")}`,
      ...(excluded.length === 0 ? [] : [`--exclude-tools=${excluded.join(",")}`]),
      "--approval-mode",
      "default",
    ],
  };
}

const QWEN_EXTRAS =
  "agent skill list_agents ask_user_question enter_plan_mode exit_plan_mode get_goal update_goal".split(" ");

/**
 * codex-acp hands `CODEX_CONFIG` to Codex, whose features are its tools. Without any tool that changes things, its
 * sandbox is read-only as well.
 */
export async function limitCodex({ allowed, env }: LimitRequest): Promise<Limits> {
  const has = (...names: string[]) => names.some((name) => allowed.includes(name));
  const shell = has("exec_command", "shell", "shell_command", "local_shell", "execute");
  const patch = has("apply_patch", "edit");
  const config = parse(env.CODEX_CONFIG);
  const features = Object.fromEntries(CODEX_FEATURES.map((name) => [name, has(name)]));
  return {
    env: {
      INITIAL_AGENT_MODE: shell || patch ? "agent" : "read-only",
      CODEX_CONFIG: JSON.stringify({
        ...config,
        features: {
          ...(isFields(config.features) ? config.features : {}),
          ...features,
          shell_tool: shell,
          unified_exec: shell,
        },
        include_apply_patch_tool: patch,
        web_search: has("web_search") ? "live" : "disabled",
        tools: { view_image: has("view_image"), web_search: has("web_search") },
      }),
    },
  };
}

/** Features of Codex that are tools, or that start programs. */
const CODEX_FEATURES =
  "view_image image_generation multi_agent multi_agent_v2 goals apps plugins hooks tool_search tool_suggest browser_use computer_use code_mode js_repl sleep_tool memories".split(
    " ",
  );

/** claude-agent-acp hands these to Claude Code; reading tools ask nobody there, so they must not be there at all. */
export async function limitClaude({ allowed }: LimitRequest): Promise<Limits> {
  return { meta: { claudeCode: { options: { tools: [...allowed] } } } };
}

function parse(json: string | undefined): Fields {
  try {
    const value: unknown = JSON.parse(json ?? "{}");
    return isFields(value) ? value : {};
  } catch {
    return {};
  }
}
