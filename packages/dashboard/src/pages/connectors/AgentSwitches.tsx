import type { Connector } from "../../api/types.ts";
import { Choice } from "../../components/Choice.tsx";
import { switchConnector } from "../../state/connectors.ts";
import { attempt } from "../../state/notices.ts";
import { agents } from "../../state/place.ts";

const SWITCHES = [
  ["default", "As the default says"],
  ["on", "On"],
  ["off", "Off"],
] as const;

/** Which agents may use a connector. */
export function AgentSwitches({ connector: { id, label } }: { connector: Connector }) {
  const known = agents.value ?? [];
  return (
    <section class="save-form job-part" aria-label={`Agents that use ${label}`}>
      {known.length === 0 && <p class="empty small">This gateway has no agents yet.</p>}
      {known.map(({ id: agentId, name, connectors }) => {
        const { enabled, effective } = connectors[id] ?? { enabled: null, effective: false };
        return (
          <Choice
            key={agentId}
            label={`${name || agentId}: ${effective ? "has it" : "does not have it"}`}
            value={enabled === null ? "default" : enabled ? "on" : "off"}
            options={SWITCHES}
            onChoose={(value) =>
              void attempt(() => switchConnector(agentId, id, value === "default" ? null : value === "on"))
            }
          />
        );
      })}
      <p class="hint">An agent has a connector from its next turn on, if it is connected and switched on.</p>
    </section>
  );
}
