import type { Trace as Found, TraceStep } from "@agent-gateway/contract";
import { useSignal } from "@preact/signals";
import { client } from "../../api/client.ts";
import { fullTime } from "../../components/format.ts";
import { SaveForm, typed } from "../../components/SaveForm.tsx";
import { FACTS } from "./facts.ts";

const STEPS: Readonly<Record<TraceStep["step"], string>> = {
  received: "Received from the provider",
  stored: "Stored",
  denied: "Turned away by the access rules",
  turn: "Answered by the agent",
  reply: "Reply ready",
  delivery: "Reply handed to the provider",
};

/** What became of one message: when it came, what the agent made of it, and whether the reply went out. */
export function Trace({ agentId }: { agentId: string }) {
  const found = useSignal<Found | undefined>(undefined);
  const look = async (fields: FormData) => {
    found.value = undefined;
    const messageId = typed(fields, "id");
    if (messageId !== "") found.value = await client.call("traceMessage", { params: { agentId, messageId } });
  };
  return (
    <details class="fold">
      <summary>What became of a message?</summary>
      <SaveForm
        title="Trace a message"
        hint="By its number here, the id of its request, or the provider's id of the message or event."
        action="Look"
        done=""
        onSave={look}
      >
        <label class="field">
          <span>Id</span>
          <input class="input" name="id" maxLength={500} autocomplete="off" spellcheck={false} />
        </label>
        {found.value && <Steps trace={found.value} />}
      </SaveForm>
    </details>
  );
}

function Steps({ trace: { message, steps } }: { trace: Found }) {
  const { channel, chatId, senderId, state, note } = message;
  return (
    <div class="trace" role="status">
      <p>
        {FACTS[channel].service}, chat {chatId}
        {senderId && `, from ${senderId}`}: <strong>{state}</strong>
        {note && `, ${note}`}
      </p>
      <ol>
        {steps.map((step, nth) => (
          <li key={`${nth}-${step.step}`}>
            {STEPS[step.step]}: {step.at === null ? "not yet" : fullTime(step.at)}
            <span class="hint">{detailsOf(step)}</span>
          </li>
        ))}
      </ol>
    </div>
  );
}

function detailsOf({ state, purpose, attempts, reason }: TraceStep): string {
  const parts = [
    state,
    purpose,
    attempts !== undefined && attempts > 1 ? `${attempts} attempts` : undefined,
    reason,
  ].filter((part) => part);
  return parts.length > 0 ? ` ${parts.join(", ")}` : "";
}
