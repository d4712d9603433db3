import type { Status } from "../../api/types.ts";
import { ago } from "../../components/format.ts";
import { problemOf } from "../../components/runtime.ts";
import { hashOf, pageRoute, type Route } from "../../state/address.ts";
import { waits } from "../../state/overview.ts";
import { agentName, agents } from "../../state/place.ts";

interface Matter {
  key: string;
  title: string;
  detail: string;
  /** What its button says, and where it leads. */
  action: string;
  to: Route;
}

const people = (count: number) => (count === 1 ? "1 person waits" : `${count} people wait`);
const replies = (count: number) => (count === 1 ? "1 reply" : `${count} replies`);

function matters(status: Status): Matter[] {
  const runtimes = new Map((agents.value ?? []).map(({ id, runtime_status }) => [id, runtime_status]));
  const broken = status.agents.flatMap(({ id, problem }): Matter[] => {
    const runtime = runtimes.get(id);
    const why = problem ?? (runtime && problemOf(runtime));
    if (!why) return [];
    const to = pageRoute("agents", id);
    return [
      { key: `broken ${id}`, title: `${agentName(id)} cannot start`, detail: why, action: "Set up", to },
    ];
  });
  const others = (waits.value ?? []).flatMap(({ agentId, people: who, replies: count, stuck }): Matter[] => {
    const to: Route = { view: "channels", agentId };
    const name = agentName(agentId);
    const list: Matter[] = stuck.map(({ id, chatId, detectedAt }) => ({
      key: `stuck ${id}`,
      title: `${name} is stuck`,
      detail: `In chat ${chatId}, noticed ${ago(detectedAt)}.`,
      action: "Help",
      to: pageRoute("incidents", agentId),
    }));
    if (who.length > 0) {
      const names = who.slice(0, 3).map((one) => one.name || one.id);
      const more = who.length > names.length ? ` and ${who.length - names.length} more` : "";
      list.push({
        key: `people ${agentId}`,
        title: `${people(who.length)} to be let in to ${name}`,
        detail: names.join(", ") + more,
        action: "Decide",
        to,
      });
    }
    if (count > 0) {
      list.push({
        key: `replies ${agentId}`,
        title: `${replies(count)} of ${name} may not have arrived`,
        detail: "Look into the chat, and send again what is missing.",
        action: "Look",
        to,
      });
    }
    return list;
  });
  return [...broken, ...others];
}

/** Everything that goes on only after somebody has done something. */
export function WaitingForYou({ status }: { status: Status }) {
  const list = matters(status);
  return (
    <section class="data" aria-labelledby="matters-title">
      <h2 id="matters-title">Waiting for you</h2>
      {list.length === 0 ? (
        <p class="empty small">{waits.value ? "Nothing waits for you." : "Looking…"}</p>
      ) : (
        <ul class="rows">
          {list.map(({ key, title, detail, action, to }) => (
            <li key={key} class="row">
              <p>
                <strong>{title}</strong>
                <span class="hint">{detail}</span>
              </p>
              <a class="button" href={hashOf(to)} aria-label={`${action}: ${title}`}>
                {action}
              </a>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
