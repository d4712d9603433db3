import type { ChannelState } from "../../api/types.ts";
import { ago, formatNumber } from "../../components/format.ts";
import type { Overview } from "../../state/channels.ts";
import { AllowedList } from "./AllowedList.tsx";
import { ConnectForm } from "./ConnectForm.tsx";
import { Devices } from "./Devices.tsx";
import { FACTS } from "./facts.ts";
import { PolicyForm } from "./PolicyForm.tsx";

/** One channel of an agent: its state and its settings. */
export function ChannelCard({ overview, state }: { overview: Overview; state: ChannelState }) {
  const { agentId, policies, devices } = overview;
  const { channel, enabled, connected, configured } = state;
  const policy = policies[channel];
  const headline = `channel-${channel}`;
  return (
    <section class="channel" aria-labelledby={headline}>
      <header class="channel-header">
        <h2 id={headline}>
          {FACTS[channel].service} <code>{channel}</code>
        </h2>
        <StateMark state={state} />
      </header>
      {enabled && <Facts state={state} />}
      {state.lastError && enabled && <p class="failure">{state.lastError}</p>}
      {!enabled && <p class="hint">{FACTS[channel].how}</p>}
      {FACTS[channel].webhook && !connected && (
        <p class="hint">
          {enabled ? "Waiting for the provider's first call. Webhook" : "Webhook"}:{" "}
          <code>
            /webhooks/{channel}/{agentId}
          </code>{" "}
          at this gateway's public address.
        </p>
      )}
      {enabled && channel === "devicechat" && <Devices agentId={agentId} devices={devices} />}
      {enabled && channel !== "devicechat" && policy && (
        <>
          <PolicyForm agentId={agentId} channel={channel} policy={policy} />
          <AllowedList agentId={agentId} channel={channel} policy={policy} />
        </>
      )}
      <ConnectForm agentId={agentId} channel={channel} enabled={enabled} configured={configured} />
    </section>
  );
}

function StateMark({ state: { enabled, connected } }: { state: ChannelState }) {
  const [name, text] = !enabled
    ? ["off", "off"]
    : connected
      ? ["live", "connected"]
      : ["down", "not connected"];
  return <span class={`state ${name}`}>{text}</span>;
}

function Facts({ state }: { state: ChannelState }) {
  const facts = [
    ["Last message in", ago(state.lastInboundAt)],
    ["Last message out", ago(state.lastOutboundAt)],
    ["Queued", formatNumber(state.queued)],
    ...(state.unknown > 0 ? [["Not confirmed", formatNumber(state.unknown)]] : []),
  ];
  return (
    <dl class="channel-facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
