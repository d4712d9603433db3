import { useSignal } from "@preact/signals";
import type { Connector } from "../../api/types.ts";
import { Choice } from "../../components/Choice.tsx";
import { SaveForm, typed } from "../../components/SaveForm.tsx";
import { saveConnector } from "../../state/connectors.ts";
import { ServerFields } from "./ServerFields.tsx";
import { type Access, accessOf, configOf, type Kind } from "./server.ts";

const KINDS = [
  ["http", "At an address (HTTP)"],
  ["sse", "At an address (server-sent events)"],
  ["stdio", "A program on the gateway's machine"],
] as const;
const KEEP = ["keep", "As it is"] as const;
const ACCESS = [
  ["token", "A token that I paste"],
  ["sign-in", "I sign in there (OAuth)"],
  ["open", "Nothing, or what the headers say"],
] as const;

/** A new connector, or the fields of one that exists. Secrets come later: until then they are missing. */
export function ConnectorForm({ connector }: { connector?: Connector }) {
  const kind = useSignal<Kind>(connector ? "keep" : "http");
  const fixed = accessOf(connector?.credentialOwner);
  const chosen = useSignal<Access>("token");
  const access = fixed ?? chosen.value;
  const save = async (fields: FormData, form: HTMLFormElement) => {
    const config = configOf(fields, kind.value, access);
    await saveConnector(connector?.id, {
      label: typed(fields, "label"),
      description: typed(fields, "description"),
      ...(config && { config }),
      ...(!connector && kind.value !== "stdio" && access === "sign-in" && { oauth: true }),
      defaultEnabled: !fields.has("some"),
    });
    form.reset();
    if (connector) kind.value = "keep";
  };
  return (
    <div class="job-part">
      <SaveForm
        title={connector ? `Edit ${connector.label}` : "New connector"}
        action={connector ? "Save" : "Add"}
        done={connector ? "Saved." : "Added."}
        onSave={save}
      >
        <label class="field">
          <span>Name</span>
          <input
            class="input"
            name="label"
            maxLength={200}
            defaultValue={connector?.label ?? ""}
            autocomplete="off"
          />
        </label>
        <label class="field">
          <span>What it is for</span>
          <input
            class="input"
            name="description"
            maxLength={2000}
            defaultValue={connector?.description ?? ""}
            autocomplete="off"
          />
        </label>
        <Choice
          label="Server"
          value={kind.value}
          options={connector ? [KEEP, ...KINDS] : KINDS}
          onChoose={(value) => {
            kind.value = value as Kind;
          }}
        />
        {(kind.value === "http" || kind.value === "sse") && !fixed && (
          <Choice
            label="What lets the gateway in"
            value={access}
            options={ACCESS.filter(([value]) => !connector || value !== "sign-in")}
            onChoose={(value) => {
              chosen.value = value as Access;
            }}
          />
        )}
        <ServerFields kind={kind.value} />
        <label class="check">
          <input type="checkbox" name="some" defaultChecked={connector?.defaultEnabled === false} />
          <span>Only for agents that are switched on</span>
        </label>
      </SaveForm>
    </div>
  );
}
