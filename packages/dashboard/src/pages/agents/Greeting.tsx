import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { client } from "../../api/client.ts";
import { SaveForm } from "../../components/SaveForm.tsx";
import { report } from "../../state/notices.ts";

/** The text that makes the agent speak first, once. */
export function Greeting({ agentId }: { agentId: string }) {
  const text = useSignal<string | undefined>(undefined);
  const params = { agentId };
  useEffect(() => {
    client.call("getGreeting", { params }).then((reply) => {
      text.value = reply.text;
    }, report);
  }, []);
  if (text.value === undefined) return null;
  const save = async (fields: FormData) => {
    const body = { text: String(fields.get("text") ?? "") };
    text.value = (await client.call("setGreeting", { params, body })).text;
  };
  return (
    <SaveForm
      title="Greeting"
      hint="The agent is told this once and answers it, in the first conversation whose menu says “Let the agent greet”. Then it is gone."
      onSave={save}
    >
      <textarea
        class="input"
        name="text"
        aria-label="What the agent is told"
        placeholder="For example: Introduce yourself, and ask what I am working on."
        defaultValue={text.value}
      />
    </SaveForm>
  );
}
