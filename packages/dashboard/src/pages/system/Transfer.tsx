import { useSignal } from "@preact/signals";
import { client } from "../../api/client.ts";
import { Choice } from "../../components/Choice.tsx";
import { formatNumber } from "../../components/format.ts";
import { SaveForm } from "../../components/SaveForm.tsx";
import { agentName, agents } from "../../state/place.ts";

/** Takes the messages of an agent out as a file, and puts such a file in. */
export function Transfer() {
  const known = agents.value ?? [];
  const chosen = useSignal("");
  const said = useSignal("");
  const agentId = known.some(({ id }) => id === chosen.value) ? chosen.value : (known[0]?.id ?? "");
  if (agentId === "") return null;
  const bring = async (fields: FormData, form: HTMLFormElement) => {
    said.value = "";
    const file = fields.get("file");
    if (!(file instanceof File) || file.size === 0) {
      said.value = "Choose a file first.";
      return;
    }
    const { imported, skipped, sessions } = await client.call("importHistory", {
      params: { agentId },
      body: file,
      headers: { "content-type": "application/x-ndjson" },
    });
    form.reset();
    const known = skipped > 0 ? ` ${formatNumber(skipped)} were there already.` : "";
    said.value = `${formatNumber(imported)} messages of ${formatNumber(sessions)} sessions were added.${known}`;
  };
  const address = `/api/v1/agents/${encodeURIComponent(agentId)}/history/export`;
  return (
    <section class="transfer" aria-labelledby="transfer-title">
      <h2 id="transfer-title">Export and import</h2>
      <p class="hint">
        All messages of an agent in one file, one message on each line (NDJSON). A file can be added to any
        agent, also of another gateway; messages that are there already are left out.
      </p>
      <Choice
        label="Agent"
        value={agentId}
        options={known.map(({ id }) => [id, agentName(id)] as const)}
        onChoose={(id) => {
          chosen.value = id;
          said.value = "";
        }}
      />
      <p>
        <a class="button" href={address} download>
          Export the messages of {agentName(agentId)}
        </a>
      </p>
      <SaveForm title="Import messages" action="Import" done="" onSave={bring}>
        <input
          class="input"
          type="file"
          name="file"
          aria-label="File with messages"
          accept=".ndjson,.jsonl"
        />
        <p class="saved" role="status">
          {said.value}
        </p>
      </SaveForm>
    </section>
  );
}
