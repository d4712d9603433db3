import { useSignal } from "@preact/signals";
import type { Connector } from "../../api/types.ts";
import { ask } from "../../components/Dialog.tsx";
import { removeConnector } from "../../state/connectors.ts";
import { attempt } from "../../state/notices.ts";
import { AgentSwitches } from "./AgentSwitches.tsx";
import { ConnectorForm } from "./ConnectorForm.tsx";
import { Secrets } from "./Secrets.tsx";
import { SignIn } from "./SignIn.tsx";
import { Test } from "./Test.tsx";
import { stateOf, troubleOf } from "./words.ts";

type Part = "secrets" | "sign-in" | "test" | "agents" | "edit";

/** One connector: how it stands, and what can be done with it. */
export function ConnectorRow({ connector }: { connector: Connector }) {
  const open = useSignal<Part | undefined>(undefined);
  const { id, label, description, credentialOwner, connected, secretNames, missing } = connector;
  const trouble = troubleOf(connector);
  const part = (what: Part, name: string) => (
    <button
      type="button"
      class="button"
      aria-label={`${name}: ${label}`}
      aria-expanded={open.value === what}
      onClick={() => {
        open.value = open.value === what ? undefined : what;
      }}
    >
      {name}
    </button>
  );
  const remove = (entirely: boolean) =>
    attempt(async () => {
      const sure = await ask({
        title: entirely ? "Remove the connector?" : "Disconnect the connector?",
        text: entirely
          ? `“${label}”, its secrets and the agents' switches for it will be gone.`
          : `The secrets of “${label}” will be deleted; the connector stays.`,
        action: entirely ? "Remove" : "Disconnect",
        danger: true,
      });
      if (sure !== undefined) await removeConnector(id, entirely);
    });
  const act = (name: string, entirely: boolean) => (
    <button
      type="button"
      class="button"
      aria-label={`${name}: ${label}`}
      onClick={() => void remove(entirely)}
    >
      {name}
    </button>
  );
  const held = credentialOwner === "static" || credentialOwner === "gateway";
  return (
    <li class="row" aria-label={label}>
      <p>
        <strong>{label}</strong>
        {description && <span>{description}</span>}
        <span class={connected ? "working" : "failure"}>{stateOf(connector)}</span>
        {trouble && <span class="failure">{trouble}</span>}
      </p>
      <span class="decision">
        {credentialOwner === "static" && part("secrets", connected ? "Other secrets" : "Paste secrets")}
        {credentialOwner === "gateway" && part("sign-in", connected ? "Sign in again" : "Sign in")}
        {part("test", "Test")}
        {part("agents", "Agents")}
        {part("edit", "Edit")}
        {held && missing.length < secretNames.length && act("Disconnect…", false)}
        {act("Remove…", true)}
      </span>
      {open.value === "secrets" && <Secrets connector={connector} />}
      {open.value === "sign-in" && <SignIn connector={connector} />}
      {open.value === "test" && <Test connector={connector} />}
      {open.value === "agents" && <AgentSwitches connector={connector} />}
      {open.value === "edit" && <ConnectorForm connector={connector} />}
    </li>
  );
}
