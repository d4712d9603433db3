import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

interface Question {
  title: string;
  text?: string;
  /** Label of the text field; without one the dialog only asks for consent. */
  field?: { label: string; value: string; maxLength: number; pattern?: RegExp; hint?: string };
  action: string;
  danger?: boolean;
}

const asked = signal<(Question & { answer: (value: string | undefined) => void }) | undefined>(undefined);

/** Asks the user; gives the text of the field ("" without one), or undefined when the user thought better of it. */
export function ask(question: Question): Promise<string | undefined> {
  return new Promise((resolve) => {
    asked.peek()?.answer(undefined);
    asked.value = { ...question, answer: resolve };
  });
}

/** Shows the question of `ask`. Rendered once per page. */
export function DialogHost() {
  const question = asked.value;
  return question && <Dialog key={question.title} question={question} />;
}

function Dialog({ question }: { question: NonNullable<typeof asked.value> }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const { activeElement } = document;
    dialog.current?.showModal();
    input.current?.select();
    return () => {
      if (activeElement instanceof HTMLElement && activeElement.isConnected) activeElement.focus();
    };
  }, []);

  const finish = (value: string | undefined) => {
    asked.value = undefined;
    question.answer(value);
  };
  const submit = (event: Event) => {
    event.preventDefault();
    const value = input.current?.value.trim() ?? "";
    const { field } = question;
    if (field && (value === "" || (field.pattern && !field.pattern.test(value)))) {
      input.current?.setAttribute("aria-invalid", "true");
      input.current?.focus();
      return;
    }
    finish(value);
  };

  return (
    <dialog ref={dialog} class="dialog" aria-labelledby="dialog-title" onClose={() => finish(undefined)}>
      <form onSubmit={submit} noValidate>
        <h2 id="dialog-title">{question.title}</h2>
        {question.text && <p>{question.text}</p>}
        {question.field && (
          <>
            <label for="dialog-field">{question.field.label}</label>
            <input
              ref={input}
              id="dialog-field"
              class="input"
              value={question.field.value}
              maxLength={question.field.maxLength}
              aria-describedby={question.field.hint ? "dialog-hint" : undefined}
              autocomplete="off"
            />
            {question.field.hint && (
              <p id="dialog-hint" class="hint">
                {question.field.hint}
              </p>
            )}
          </>
        )}
        <div class="dialog-actions">
          <button type="button" class="button" onClick={() => finish(undefined)}>
            Cancel
          </button>
          <button type="submit" class={`button ${question.danger ? "danger" : "primary"}`}>
            {question.action}
          </button>
        </div>
      </form>
    </dialog>
  );
}
