import { MAX_SECRET_CHARS } from "@agent-gateway/contract";
import { useSignal } from "@preact/signals";
import { sentence } from "../../api/client.ts";
import { type ChannelName, changeChannel } from "../../state/channels.ts";
import { announce, attempt } from "../../state/notices.ts";
import { FACTS } from "./facts.ts";

interface Props {
  agentId: string;
  channel: ChannelName;
  enabled: boolean;
  /** It has the required settings, even while it is off. */
  configured: boolean;
}

/** Connects a channel with its tokens, or replaces them; the input goes to the gateway and is not kept on the page. */
export function ConnectForm(props: Props) {
  const { agentId, channel, enabled, configured } = props;
  if (channel === "cloudchat") return null;
  const turn = (on: boolean) => attempt(() => changeChannel(agentId, channel, { enabled: on }));
  return (
    <>
      {channel !== "devicechat" && <TokenForm {...props} />}
      {enabled && (
        <button type="button" class="link-button" onClick={() => turn(false)}>
          Turn off {channel}
        </button>
      )}
      {!enabled && (configured || channel === "devicechat") && (
        <button type="button" class="button primary" onClick={() => turn(true)}>
          Turn on {channel}
        </button>
      )}
    </>
  );
}

function TokenForm({ agentId, channel, configured }: Props) {
  const { tokens } = FACTS[channel];
  const busy = useSignal(false);
  const failure = useSignal("");
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const typed = new FormData(form);
    const fields = tokens.map(({ name }) => [name, String(typed.get(name) ?? "").trim()] as const);
    if (fields.some(([, value]) => value === "")) {
      failure.value = tokens.length > 1 ? "Fill in both fields." : "Paste the token first.";
      return;
    }
    busy.value = true;
    failure.value = "";
    try {
      await changeChannel(agentId, channel, { ...Object.fromEntries(fields), enabled: true });
      form.reset();
      form.closest("details")?.removeAttribute("open");
      announce(`${channel} is connecting.`);
    } catch (error) {
      failure.value = sentence(error);
    } finally {
      busy.value = false;
    }
  };
  return (
    <details class="connect">
      <summary>{configured ? "Other tokens" : "Connect"}</summary>
      <form onSubmit={submit} noValidate>
        {tokens.map(({ name, label }) => (
          <label key={name} class="field">
            <span>{label}</span>
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
        <p class="failure" role="alert">
          {failure.value}
        </p>
        <button type="submit" class="button primary" disabled={busy.value}>
          {busy.value ? "Checking…" : `Save ${channel}`}
        </button>
      </form>
    </details>
  );
}
