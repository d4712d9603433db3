import type { Delivery } from "@agent-gateway/contract";
import { useSignal } from "@preact/signals";
import { ask } from "../../components/Dialog.tsx";
import { ago, fullTime } from "../../components/format.ts";
import { sendAgain } from "../../state/channels.ts";
import { announce, attempt } from "../../state/notices.ts";
import { FACTS } from "./facts.ts";

/** Replies that may not have arrived, each with a button to send it again. Absent when there are none. */
export function NotConfirmed({ agentId, deliveries }: { agentId: string; deliveries: readonly Delivery[] }) {
  if (deliveries.length === 0) return null;
  return (
    <section class="data" aria-labelledby="not-confirmed-title">
      <h2 id="not-confirmed-title">Not confirmed</h2>
      <p class="hint">These replies may not have arrived. Check the chat before you send one again.</p>
      <ul class="waiting">
        {deliveries.map((delivery) => (
          <DeliveryRow key={delivery.id} agentId={agentId} delivery={delivery} />
        ))}
      </ul>
    </section>
  );
}

function DeliveryRow({ agentId, delivery }: { agentId: string; delivery: Delivery }) {
  const busy = useSignal(false);
  const { channel, account, chatId, state, text, createdAt, settledAt, reason, sendable } = delivery;
  const at = settledAt ?? createdAt;
  const again = async () => {
    const sure = await ask({
      title: "Send this reply again?",
      text:
        state === "unknown"
          ? "It may have arrived after all. If so, the recipient will get it twice."
          : "It was refused before. If any part of it did arrive, the recipient will get that part twice.",
      action: "Send again",
    });
    if (sure === undefined) return;
    busy.value = true;
    if (await attempt(() => sendAgain(agentId, delivery.id))) announce("The reply is being sent again.");
    busy.value = false;
  };
  return (
    <li class="waiting-row delivery">
      <div class="delivery-text">
        <p class="hint">
          {FACTS[channel].service}
          {account && ` (${account})`}, chat {chatId}, <time title={fullTime(at)}>{ago(at)}</time>
        </p>
        <p class="plain-text">{text ?? "The text is no longer kept."}</p>
        <p class="failure">
          {state === "failed" ? "Refused" : "Not confirmed"}
          {reason && `: ${reason}`}
        </p>
      </div>
      {sendable && (
        <button type="button" class="button" disabled={busy.value} onClick={again}>
          Send again
        </button>
      )}
    </li>
  );
}
