import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { sentence } from "../api/client.ts";
import { announce } from "../state/notices.ts";

/** A form with a title, one button, and what came of it. */
export function SaveForm(props: {
  title: string;
  hint?: ComponentChildren;
  action?: string;
  /** What is said after it worked. */
  done?: string;
  /** Takes what was typed; its error is shown below the fields. */
  onSave: (fields: FormData, form: HTMLFormElement) => Promise<unknown>;
  children: ComponentChildren;
}) {
  const { title, hint, action = "Save", done = "Saved.", onSave, children } = props;
  const busy = useSignal(false);
  const failure = useSignal("");
  const saved = useSignal(false);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    busy.value = true;
    failure.value = "";
    saved.value = false;
    try {
      await onSave(new FormData(form), form);
      saved.value = true;
      announce(done);
    } catch (error) {
      failure.value = sentence(error);
    } finally {
      busy.value = false;
    }
  };
  return (
    <form
      class="save-form"
      aria-label={title}
      onSubmit={submit}
      onInput={() => {
        saved.value = false;
      }}
      noValidate
    >
      <h2>{title}</h2>
      {hint && <p class="hint">{hint}</p>}
      {children}
      <p class="failure" role="alert">
        {failure.value}
      </p>
      <p class="save-line">
        <button type="submit" class="button primary" disabled={busy.value}>
          {busy.value ? "Saving…" : action}
        </button>
        {saved.value && <span class="saved">{done}</span>}
      </p>
    </form>
  );
}

/** A text that was typed into a field, without spaces around it. */
export const typed = (fields: FormData, name: string): string => String(fields.get(name) ?? "").trim();
