import type { Waiting } from "@agent-gateway/contract";
import { useSignal } from "@preact/signals";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { ago } from "../../components/format.ts";
import { settle } from "../../state/channels.ts";
import { announce, attempt } from "../../state/notices.ts";
import { FACTS } from "./facts.ts";

const keyOf = ({ channel, account, kind, id, code }: Waiting) => [channel, account, kind, id, code].join(" ");
const nameOf = ({ name, id }: Waiting) => (name ? `${name} (${id})` : id);

/** Who asked to be let in, each with a click to do so or not. */
export function WaitingList({ agentId, waiting }: { agentId: string; waiting: readonly Waiting[] }) {
  const busy = useSignal<string | undefined>(undefined);
  const act = async (who: Waiting, verb: "approve" | "deny") => {
    busy.value = keyOf(who);
    const done = await attempt(() => settle(agentId, who, verb));
    busy.value = undefined;
    if (done) announce(`${nameOf(who)} ${verb === "approve" ? "may write now" : "was denied"}.`);
  };
  const columns: Column<Waiting>[] = [
    {
      title: "Channel",
      cell: ({ channel, account }) => (account === undefined ? channel : `${channel} (${account})`),
    },
    { title: "Who", cell: (who) => <span class="who">{nameOf(who)}</span> },
    {
      title: "Asks for",
      cell: ({ channel, kind }) => (kind === "user" ? "Direct messages" : FACTS[channel].groups),
    },
    { title: "Code", cell: ({ code }) => code && <code>{code}</code> },
    { title: "Since", cell: ({ since }) => ago(since) },
    {
      title: "Decision",
      cell: (who) => (
        <span class="decision">
          <button
            type="button"
            class="button primary"
            aria-label={`Approve ${nameOf(who)}`}
            disabled={busy.value === keyOf(who)}
            onClick={() => act(who, "approve")}
          >
            Approve
          </button>
          <button
            type="button"
            class="button"
            aria-label={`Deny ${nameOf(who)}`}
            disabled={busy.value === keyOf(who)}
            onClick={() => act(who, "deny")}
          >
            Deny
          </button>
        </span>
      ),
    },
  ];
  return (
    <DataTable
      title="Waiting for approval"
      columns={columns}
      rows={waiting}
      keyOf={keyOf}
      empty="Nobody waits. Who writes for the first time gets a code and appears here."
    />
  );
}
