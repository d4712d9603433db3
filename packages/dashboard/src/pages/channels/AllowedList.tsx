import { MAX_SENDER_ID_CHARS } from "@agent-gateway/contract";
import { Icon } from "../../components/Icon.tsx";
import { allow, type ChannelName, type Policy, revoke } from "../../state/channels.ts";
import { announce, attempt } from "../../state/notices.ts";
import { FACTS } from "./facts.ts";

interface Place {
  agentId: string;
  channel: ChannelName;
  account?: string;
}

/** The ids that may write, each with a button to take it off, and fields for more. */
export function AllowedList({ policy, ...place }: Place & { policy: Policy }) {
  const users = policy.dmAllowlist;
  const groups = policy.groupAllowlist;
  const count = users.length + (groups?.length ?? 0);
  return (
    <details class="allowed">
      <summary>Allowed ({count})</summary>
      <Ids {...place} kind="user" title="People" ids={users} />
      {groups && <Ids {...place} kind="group" title={FACTS[place.channel].groups} ids={groups} />}
    </details>
  );
}

function Ids({
  agentId,
  channel,
  account,
  kind,
  title,
  ids,
}: Place & { kind: "user" | "group"; title: string; ids: readonly string[] }) {
  const add = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const id = String(new FormData(form).get("id") ?? "").trim();
    if (id === "") return;
    if (!(await attempt(() => allow(agentId, channel, account, kind, id)))) return;
    form.reset();
    announce(`${id} can write now.`);
  };
  const remove = async (id: string) => {
    const others = ids.filter((other) => other !== id);
    if (await attempt(() => revoke(agentId, channel, account, kind, id, others)))
      announce(`${id} has been removed from the list.`);
  };
  return (
    <div class="ids">
      <h3>{title}</h3>
      {ids.length === 0 && <p class="hint">No one yet.</p>}
      <ul aria-label={title}>
        {ids.map((id) => (
          <li key={id} class="id">
            <code>{id}</code>
            {channel !== "cloudchat" && (
              <button
                type="button"
                class="icon-button"
                aria-label={`Remove ${id}`}
                onClick={() => remove(id)}
              >
                <Icon name="close" />
              </button>
            )}
          </li>
        ))}
      </ul>
      <form class="add-id" onSubmit={add}>
        <input
          class="input"
          name="id"
          aria-label={`Id to add to ${title}`}
          placeholder="Id"
          maxLength={MAX_SENDER_ID_CHARS}
          autocomplete="off"
        />
        <button type="submit" class="button">
          Add
        </button>
      </form>
    </div>
  );
}
