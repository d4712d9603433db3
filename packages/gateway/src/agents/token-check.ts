import { GatewayError } from "@agent-gateway/contract";
import { type AgentConfig, channelBlocks } from "../config/index.ts";
import { type ChannelPatch, fieldOf, type PatchableChannel } from "./channel-patch.ts";

/** Channels whose provider can check a token, and the key of that token. */
const TOKENS = {
  botchat: "botToken",
  guildchat: "botToken",
  sigchat: "channelAccessToken",
  teamchat: "botToken",
} as const;
export type CheckedChannel = keyof typeof TOKENS;

/** A provider's verdict on a token; `refused` is a user-facing message. */
export type TokenVerdict = { ok: true } | { refused: string } | { unreachable: true };

/** Asks the channel's provider whether the token in `settings`, the channel's block, is valid. */
export type CheckToken = <C extends CheckedChannel>(
  channel: C,
  settings: NonNullable<AgentConfig[C]>,
  signal: AbortSignal,
) => Promise<TokenVerdict>;

/** Channels whose token must be checked before it is saved; for the others, the state shows what is wrong. */
const MUST_ANSWER: ReadonlySet<CheckedChannel> = new Set(["teamchat"]);
const CHECK_MS = 15_000;
const isChecked = (channel: PatchableChannel): channel is CheckedChannel => Object.hasOwn(TOKENS, channel);

/** The block as it will be once the patch is applied. */
function settingsAfter<C extends CheckedChannel>(agent: AgentConfig, patch: ChannelPatch, channel: C) {
  const block: Record<string, unknown> = { ...agent[channel] };
  for (const [key, value] of [...patch.plain, ...patch.secrets]) block[key] = value ?? undefined;
  return channelBlocks[channel].parse(block) as NonNullable<AgentConfig[C]>;
}

/**
 * Has the providers check the tokens in an update.
 * @throws {GatewayError} `INVALID_REQUEST` for a token that is refused, `UPSTREAM_UNAVAILABLE` if the provider of
 * a token that must be checked does not answer.
 */
export async function checkTokens(
  agent: AgentConfig,
  patches: readonly ChannelPatch[],
  checkToken: CheckToken,
): Promise<void> {
  const checks = patches.map(async (patch) => {
    const { channel, secrets } = patch;
    if (!isChecked(channel) || !secrets.get(TOKENS[channel])) return;
    const signal = AbortSignal.timeout(CHECK_MS);
    const verdict = await checkToken(channel, settingsAfter(agent, patch, channel), signal);
    if ("refused" in verdict) {
      const details = [{ path: fieldOf(channel, TOKENS[channel]), message: verdict.refused }];
      throw new GatewayError("INVALID_REQUEST", "The provider refused the token; nothing was saved.", {
        details,
      });
    }
    if ("unreachable" in verdict && MUST_ANSWER.has(channel)) {
      throw new GatewayError(
        "UPSTREAM_UNAVAILABLE",
        `The provider of ${channel} did not answer, so the token could not be checked; nothing was saved.`,
      );
    }
  });
  await Promise.all(checks);
}
