import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { client } from "../../api/client.ts";
import type { Agent, Status } from "../../api/types.ts";
import { Icon } from "../../components/Icon.tsx";
import { problemOf } from "../../components/runtime.ts";
import { hashOf, pageRoute, type Route } from "../../state/address.ts";
import { hideSteps, stepsHidden } from "../../state/overview.ts";
import { agents, homePlace } from "../../state/place.ts";

interface Step {
  title: string;
  text: string;
  done: boolean;
  action: string;
  to: Route;
}

/** True once the agent runs something that has a model. */
const hasModel = ({ runtime_status: status }: Agent) => status.type !== "starter" && !problemOf(status);

function stepsFor(status: Status, spoken: boolean): Step[] {
  const { agentId, chatId } = homePlace();
  const known = agents.value ?? [];
  return [
    {
      title: "Connect a model",
      text: "Until then, the agent answers with fixed sentences. Use an agent program that is installed here, or the key of a model provider.",
      done: known.some(hasModel),
      action: "Set up the agent",
      to: agentId === undefined ? pageRoute("agents") : pageRoute("agents", agentId),
    },
    {
      title: "Connect a channel",
      text: "People then write to the agent from Telegram, Discord, WhatsApp, LINE or Slack.",
      done: status.agents.some(({ channels }) => Object.keys(channels).length > 0),
      action: "Choose a channel",
      to: { view: "channels", agentId },
    },
    {
      title: "Say hello",
      text: "Write to the agent here, and see it answer.",
      done: spoken,
      action: "Open the chat",
      to: { view: "chat", agentId, chatId, sessionId: undefined },
    },
  ];
}

/** What to do first at a fresh gateway; gone once all of it is done, or nobody wants to know. */
export function NextSteps({ status }: { status: Status }) {
  const spoken = useSignal<boolean | undefined>(undefined);
  const { agentId } = homePlace();
  const wrote = status.agents.some(({ messagesReceived }) => messagesReceived > 0);
  useEffect(() => {
    if (wrote) spoken.value = true;
    if (wrote || agentId === undefined || stepsHidden.peek()) return;
    client.call("listChats", { params: { agentId } }).then(
      ({ chats }) => {
        spoken.value = chats.length > 0;
      },
      () => {},
    );
  }, [agentId, wrote]);
  if (stepsHidden.value || !agents.value || spoken.value === undefined) return null;
  const steps = stepsFor(status, spoken.value);
  const next = steps.find(({ done }) => !done);
  if (!next) return null;
  return (
    <section class="next-steps" aria-labelledby="next-steps-title">
      <header class="next-steps-head">
        <h2 id="next-steps-title">Next steps</h2>
        <button
          type="button"
          class="icon-button"
          aria-label="Hide the next steps"
          title="Hide"
          onClick={hideSteps}
        >
          <Icon name="close" />
        </button>
      </header>
      <ol>
        {steps.map(({ title, text, done, action, to }) => (
          <li key={title} class={done ? "next-step done" : "next-step"}>
            <h3>
              {title}
              {done && <span class="state live">done</span>}
            </h3>
            {!done && (
              <>
                <p class="hint">{text}</p>
                <a class={title === next.title ? "button primary" : "button"} href={hashOf(to)}>
                  {action}
                </a>
              </>
            )}
          </li>
        ))}
      </ol>
    </section>
  );
}
