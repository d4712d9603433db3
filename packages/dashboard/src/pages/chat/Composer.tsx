import { MAX_MESSAGE_CHARS } from "@agent-gateway/contract";
import { useComputed, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { Icon } from "../../components/Icon.tsx";
import { commands } from "../../state/catalogue.ts";
import { isCommand } from "../../state/command.ts";
import { live, pending } from "../../state/conversation.ts";
import { attempt, notify, report } from "../../state/notices.ts";
import { agentName, type Place } from "../../state/place.ts";
import { send } from "../../state/send.ts";
import { stopTurn } from "../../state/sessions.ts";
import { ACCEPTED, addUploads, uploads } from "../../state/upload.ts";
import { SuggestionList } from "./SuggestionList.tsx";
import { suggestions } from "./suggest.ts";
import { UploadList } from "./UploadList.tsx";

/** Longest message that the gateway takes, in characters. */

export function Composer({ here }: { here: Place }) {
  const text = useSignal("");
  const chosen = useSignal(0);
  const dismissed = useSignal(false);
  const stopping = useSignal(false);
  const input = useRef<HTMLTextAreaElement>(null);
  const files = useRef<HTMLInputElement>(null);
  const offered = useComputed(() => (dismissed.value ? [] : suggestions(text.value, commands.value)));
  const running = live.value !== undefined || pending.value !== undefined;
  const name = agentName(here.agentId);

  useEffect(() => {
    if (!matchMedia("(pointer: coarse)").matches) input.current?.focus();
  }, [here.agentId, here.chatId, here.sessionId]);
  useEffect(() => {
    if (!running) stopping.value = false;
  }, [running]);

  const write = (value: string) => {
    text.value = value;
    chosen.value = 0;
    dismissed.value = false;
  };

  const submit = async () => {
    const message = text.value.trim();
    const own = uploads.value.filter(({ agentId }) => agentId === here.agentId);
    if (message === "")
      return own.length > 0 ? notify("Add a few words to go with the attachment.") : undefined;
    if (message.length > MAX_MESSAGE_CHARS) {
      return notify(
        `A message can have at most ${MAX_MESSAGE_CHARS} characters; this one has ${message.length}.`,
        "error",
      );
    }
    const command = isCommand(message);
    if (running && !command)
      return notify("The agent is still answering. Wait until it finishes, or stop it first.");
    if (own.some(({ mediaPath }) => !mediaPath)) return notify("An attachment is still uploading.");
    write("");
    if (!command) uploads.value = [];
    try {
      await send(here, message, command ? [] : own.map(({ mediaPath }) => mediaPath as string));
    } catch (error) {
      report(error);
      if (error instanceof DOMException || text.value !== "") return;
      write(message);
      if (!command) uploads.value = own;
    }
  };

  const stop = async () => {
    const sessionId = live.value?.sessionId ?? here.sessionId;
    if (!sessionId) return;
    stopping.value = true;
    if (!(await attempt(() => stopTurn(sessionId)))) stopping.value = false;
  };

  const accept = (index: number) => {
    const command = offered.value[index];
    if (!command) return;
    // A command that takes an argument waits for it.
    write(command.usage.includes(" ") ? `${command.name} ` : command.name);
    dismissed.value = true;
    input.current?.focus();
  };

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.isComposing) return;
    const { length } = offered.value;
    if (length > 0) {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (step) chosen.value = (chosen.value + step + length) % length;
      else if (event.key === "Tab" || event.key === "Enter") accept(chosen.value);
      else if (event.key === "Escape") dismissed.value = true;
      else return;
      event.preventDefault();
      return;
    }
    const sends = event.key === "Enter" && !event.shiftKey && !matchMedia("(pointer: coarse)").matches;
    if (!sends) return;
    event.preventDefault();
    void submit();
  };

  const take = (list: FileList | null | undefined) => {
    const given = [...(list ?? [])];
    if (given.length > 0) void addUploads(here.agentId, given);
    return given.length > 0;
  };

  return (
    <form
      class="composer"
      aria-label="New message"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        take(event.dataTransfer?.files);
      }}
    >
      <SuggestionList commands={offered.value} chosen={chosen.value} onChoose={accept} />
      <UploadList agentId={here.agentId} />
      <div class="composer-row">
        <input
          ref={files}
          type="file"
          class="visually-hidden"
          accept={ACCEPTED}
          multiple
          tabIndex={-1}
          aria-label="Files to attach"
          onChange={(event) => {
            take(event.currentTarget.files);
            event.currentTarget.value = "";
          }}
        />
        <button
          type="button"
          class="icon-button"
          aria-label="Attach images or PDFs"
          title="Attach images or PDFs"
          onClick={() => files.current?.click()}
        >
          <Icon name="attach" />
        </button>
        <textarea
          ref={input}
          id="message"
          class="input"
          rows={1}
          placeholder={`Message ${name}`}
          aria-label={`Message to ${name}`}
          aria-controls="suggestions"
          aria-autocomplete="list"
          aria-activedescendant={offered.value.length > 0 ? `suggestion-${chosen.value}` : undefined}
          value={text.value}
          onInput={(event) => write(event.currentTarget.value)}
          onKeyDown={onKeyDown}
          onPaste={(event) => take(event.clipboardData?.files) && event.preventDefault()}
        />
        {running && (
          <button
            type="button"
            class="icon-button stop"
            aria-label="Stop the answer"
            title="Stop the answer"
            disabled={stopping.value}
            onClick={stop}
          >
            <Icon name="stop" />
          </button>
        )}
        {(!running || text.value !== "") && (
          <button
            type="submit"
            class="icon-button send"
            aria-label="Send"
            title="Send"
            disabled={text.value.trim() === ""}
          >
            <Icon name="send" />
          </button>
        )}
      </div>
      {text.value.length > MAX_MESSAGE_CHARS * 0.9 && (
        <p class={text.value.length > MAX_MESSAGE_CHARS ? "hint failure" : "hint"} role="status">
          {text.value.length} of {MAX_MESSAGE_CHARS} characters
        </p>
      )}
    </form>
  );
}
