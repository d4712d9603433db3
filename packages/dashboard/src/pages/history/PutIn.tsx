import { MAX_LABEL_CHARS, MAX_MESSAGE_CHARS } from "@agent-gateway/contract";
import { SaveForm, typed } from "../../components/SaveForm.tsx";
import { type HistoryPlace, putIn } from "../../state/history.ts";

/** Says something to the agent in the conversation of a channel. */
export function PutIn({ place }: { place: HistoryPlace }) {
  const send = async (fields: FormData, form: HTMLFormElement) => {
    const text = typed(fields, "content");
    if (text === "") return;
    await putIn(place, text, typed(fields, "sender"));
    form.reset();
  };
  return (
    <details class="fold">
      <summary>Say something to the agent in this conversation</summary>
      <SaveForm
        title="Put a message in"
        hint="The agent reads it after the last message and answers here. It is not sent to the people in the chat."
        action="Put in"
        done="The agent has answered."
        onSave={send}
      >
        <label class="field">
          <span>Message</span>
          <textarea class="input" name="content" maxLength={MAX_MESSAGE_CHARS} />
        </label>
        <label class="field">
          <span>From; empty for nobody in particular</span>
          <input class="input" name="sender" maxLength={MAX_LABEL_CHARS} autocomplete="off" />
        </label>
      </SaveForm>
    </details>
  );
}
