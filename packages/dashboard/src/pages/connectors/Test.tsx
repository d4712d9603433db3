import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { sentence } from "../../api/client.ts";
import type { Connector, TestedConnector } from "../../api/types.ts";
import { formatNumber } from "../../components/format.ts";
import { testConnector } from "../../state/connectors.ts";
import { announce } from "../../state/notices.ts";

function wordsOf({ ok, tools, error }: TestedConnector): string {
  if (!ok) return error ?? "It did not work.";
  return tools.length === 1
    ? "It works and has one tool."
    : `It works and has ${formatNumber(tools.length)} tools.`;
}

/** Connects to a connector as an agent would, and shows its tools or what is wrong. */
export function Test({ connector: { id, label, connected } }: { connector: Connector }) {
  const result = useSignal<TestedConnector | undefined>(undefined);
  // What was found says nothing of a connector that has changed since.
  useEffect(() => {
    let left = false;
    const show = (found: TestedConnector) => {
      if (left) return;
      result.value = found;
      announce(wordsOf(found));
    };
    result.value = undefined;
    testConnector(id).then(show, (error: unknown) => show({ ok: false, tools: [], error: sentence(error) }));
    return () => {
      left = true;
    };
  }, [id, connected]);
  const found = result.value;
  return (
    <section class="save-form job-part" aria-label={`Test of ${label}`}>
      {found ? (
        <p class={found.ok ? "saved" : "failure"}>{wordsOf(found)}</p>
      ) : (
        <p class="hint" role="status">
          Connecting; this takes up to 15 seconds…
        </p>
      )}
      {found && found.tools.length > 0 && (
        <ul aria-label="Tools">
          {found.tools.map(({ name, description }) => (
            <li key={name}>
              <code>{name}</code> {description !== name && <span class="hint">{description}</span>}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
