import { GatewayError, MAX_SECRET_CHARS } from "@agent-gateway/contract";
import type { Connector } from "../../api/types.ts";
import { SaveForm, typed } from "../../components/SaveForm.tsx";
import { storeSecrets } from "../../state/connectors.ts";

/** Takes secrets to the gateway, which never shows them; the form forgets them as soon as they are sent. */
export function Secrets({ connector: { id, label, secretNames, missing } }: { connector: Connector }) {
  const save = async (fields: FormData, form: HTMLFormElement) => {
    const given = secretNames.map((name) => [name, typed(fields, name)] as const);
    const filled = given.filter(([, secret]) => secret !== "");
    if (filled.length === 0) throw new GatewayError("INVALID_REQUEST", "Paste a secret first.");
    form.reset();
    await storeSecrets(id, Object.fromEntries(filled));
  };
  return (
    <div class="job-part">
      <SaveForm
        title={`Secrets of ${label}`}
        hint="They are kept in a private file of the gateway and never shown. What you leave empty stays as it is."
        done="Stored."
        onSave={save}
      >
        {secretNames.map((name) => (
          <label key={name} class="field">
            <span>{missing.includes(name) ? `${name} (missing)` : `${name} (stored)`}</span>
            <input
              class="input"
              type="password"
              name={name}
              autocomplete="off"
              spellcheck={false}
              maxLength={MAX_SECRET_CHARS}
            />
          </label>
        ))}
      </SaveForm>
    </div>
  );
}
