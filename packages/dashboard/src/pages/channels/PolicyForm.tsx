import { type ChannelName, changePolicy, type Policy, type PolicyChange } from "../../state/channels.ts";
import { announce, attempt } from "../../state/notices.ts";
import { FACTS } from "./facts.ts";

const RULES = [
  ["allowlist", "Only those on the list"],
  ["open", "Everyone"],
  ["disabled", "No one"],
] as const;
type Rule = (typeof RULES)[number][0];

/** Who can write; each change is saved at once. `cloudchat` is shown only: its settings are in the file. */
export function PolicyForm({
  agentId,
  channel,
  account,
  policy,
}: {
  agentId: string;
  channel: ChannelName;
  account?: string;
  policy: Policy;
}) {
  const fixed = channel === "cloudchat";
  const change = async (patch: PolicyChange) => {
    if (await attempt(() => changePolicy(agentId, channel, account, patch))) announce("Saved.");
  };
  const rule = (label: string, value: Rule, save: (next: Rule) => void) => (
    <label class="field">
      <span>{label}</span>
      <select
        class="input"
        value={value}
        disabled={fixed}
        onChange={(event) => save(event.currentTarget.value as Rule)}
      >
        {RULES.map(([name, text]) => (
          <option key={name} value={name}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
  const flag = (label: string, value: boolean, save: (next: boolean) => void) => (
    <label class="check">
      <input
        type="checkbox"
        checked={value}
        disabled={fixed}
        onChange={(event) => save(event.currentTarget.checked)}
      />
      <span>{label}</span>
    </label>
  );
  const { dmPolicy, groupPolicy, pairing, requireMention } = policy;
  return (
    <fieldset class="policy">
      <legend>Who can write</legend>
      {rule("Direct messages", dmPolicy, (next) => change({ dmPolicy: next }))}
      {groupPolicy && rule(FACTS[channel].groups, groupPolicy, (next) => change({ groupPolicy: next }))}
      {flag("Give unknown senders a pairing code", pairing, (next) => change({ pairing: next }))}
      {requireMention !== undefined &&
        channel !== "sigchat" &&
        flag("Reply only when mentioned", requireMention, (next) => change({ requireMention: next }))}
    </fieldset>
  );
}
