import { connect } from "../connection.ts";
import { UsageError } from "../errors.ts";
import { type Flag, type Flags, GLOBAL_FLAGS, isOn, last, parseFlags, takeWords } from "../flags.ts";
import { type ChannelsCall, needed } from "./call.ts";
import { linkCommand } from "./link.ts";
import { listCommand } from "./list.ts";
import { pendingCommand } from "./pending.ts";
import { policyCommand } from "./policy.ts";
import { traceOf } from "./trace.ts";

type Run = (call: ChannelsCall) => Promise<number>;

const ACCOUNT: readonly (readonly [string, Flag])[] = [["account", { key: "account" }]];
const VERBS: Readonly<Record<string, { run: Run; most: number; flags: Flags }>> = {
  link: { run: linkCommand, most: 1, flags: new Map([...GLOBAL_FLAGS, ...ACCOUNT]) },
  list: { run: listCommand, most: 1, flags: GLOBAL_FLAGS },
  pending: { run: pendingCommand, most: 2, flags: new Map([...GLOBAL_FLAGS, ...ACCOUNT]) },
  policy: {
    run: policyCommand,
    most: 2,
    flags: new Map([
      ...GLOBAL_FLAGS,
      ...ACCOUNT,
      ["dm-policy", { key: "dm_policy" }],
      ["group-policy", { key: "group_policy" }],
      ["pairing", { key: "pairing", boolean: true }],
      ["require-mention", { key: "require_mention", boolean: true }],
    ]),
  },
  trace: {
    run: ({ words: [agentId, message], ...call }) =>
      traceOf({ ...call, message, agentId: needed(agentId, "agent") }),
    most: 2,
    flags: new Map([...GLOBAL_FLAGS, ["channel", { key: "channel" }]]),
  },
};

/** `channels list|pending|policy|trace` and `devicechat link`: commands that combine several routes. */
export async function channelsCommand(tokens: readonly string[]): Promise<number> {
  const { words, rest } = takeWords(tokens, 1);
  const verb = VERBS[words[0] ?? ""]!;
  const parsed = parseFlags(rest, verb.flags);
  const { positionals } = parsed;
  if (positionals.length > verb.most) throw new UsageError(`Unexpected argument: ${positionals[verb.most]}.`);
  const connection = connect(parsed, process.env);
  return verb.run({ connection, parsed, words: positionals, json: isOn(parsed, "json") });
}

/** `trace`: searches all agents that the key can reach. */
export async function traceCommand(tokens: readonly string[]): Promise<number> {
  const flags = new Map([
    ...GLOBAL_FLAGS,
    ["agent", { key: "agent" }],
    ["channel", { key: "channel" }],
  ] as const);
  const parsed = parseFlags(tokens, flags);
  if (parsed.positionals.length > 1) throw new UsageError(`Unexpected argument: ${parsed.positionals[1]}.`);
  return traceOf({
    connection: connect(parsed, process.env),
    parsed,
    json: isOn(parsed, "json"),
    message: parsed.positionals[0],
    agentId: last(parsed, "agent"),
  });
}
