import type { ChannelName } from "../types.ts";
import type { Knock } from "./knocks.ts";

/** The Markdown reply to a denied sender. */
export function pairingReply(
  agentId: string,
  channel: ChannelName,
  { kind, code, expiresAt }: Knock,
  now: number,
): string {
  const who = kind === "dm" ? "I do not know you yet." : `I am not approved for this ${kind} yet.`;
  const minutes = Math.max(1, Math.round(((expiresAt ?? now) - now) / 60_000));
  return (
    `${who} The pairing code is \`${code}\`, valid for ${minutes} ${minutes === 1 ? "minute" : "minutes"}. My owner approves it with: ` +
    `\`agent-gateway channels approve ${agentId} ${channel} ${code}\``
  );
}
