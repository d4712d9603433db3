import type { Waiting } from "@agent-gateway/contract";
import { useSignal } from "@preact/signals";
import { ago } from "../../components/format.ts";
import { settle } from "../../state/channels.ts";
import { announce, attempt } from "../../state/notices.ts";
import { FACTS } from "./facts.ts";

const keyOf = ({ channel, account, kind, id, code }: Waiting) => [channel, account, kind, id, code].join(" ");
const nameOf = ({ name, id }: Waiting) => (name ? `${name} (${id})` : id);

/** Who asked to be let in, each with a click to do so or not. */
export function WaitingList({ agentId, waiting }: { agentId: string; waiting: readonly Waiting[] }) {
  return (
    <section class="data" aria-labelledby="waiting-title">
      <h2 id="waiting-title">Waiting for approval</h2>
      {waiting.length === 0 ? (
        <p class="empty small">
          No one is waiting. People who write for the first time get a code and appear here.
        </p>
      ) : (
        <ul class="waiting">
          {waiting.map((who) => (
            <WaitingRow key={keyOf(who)} agentId={agentId} who={who} />
          ))}
        </ul>
      )}
    </section>
  );
}

function WaitingRow({ agentId, who }: { agentId: string; who: Waiting }) {
  const busy = useSignal(false);
  const act = async (verb: "approve" | "deny") => {
    busy.value = true;
    const done = await attempt(() => settle(agentId, who, verb));
    busy.value = false;
    if (done) announce(`${nameOf(who)} ${verb === "approve" ? "can write now" : "was denied"}.`);
  };
  const { channel, account, kind, code, since } = who;
  const what = kind === "user" ? "direct messages" : FACTS[channel].groups.toLowerCase();
  return (
    <li class="waiting-row">
      <p>
        <strong>{nameOf(who)}</strong>
        <span class="hint">
          {account === undefined ? channel : `${channel} (${account})`}, {what}, {ago(since)}
        </span>
      </p>
      {code && <code title="Pairing code">{code}</code>}
      <span class="decision">
        <button
          type="button"
          class="button primary"
          aria-label={`Approve ${nameOf(who)}`}
          disabled={busy.value}
          onClick={() => act("approve")}
        >
          Approve
        </button>
        <button
          type="button"
          class="button"
          aria-label={`Deny ${nameOf(who)}`}
          disabled={busy.value}
          onClick={() => act("deny")}
        >
          Deny
        </button>
      </span>
    </li>
  );
}
