import type { Status } from "../../api/types.ts";
import { ago, formatNumber } from "../../components/format.ts";
import { hashOf, pageRoute } from "../../state/address.ts";
import { agentName } from "../../state/place.ts";

type Agent = Status["agents"][number];

const API_PREFIX = "api-";
/** More than this many lines say no more than their number. */
const MOST = 8;

const conversations = (count: number) =>
  count === 1 ? "One more conversation is" : `${formatNumber(count)} more conversations are`;

/** The conversations in which an agent is answering now. */
export function Running({ agents }: { agents: readonly Agent[] }) {
  const live = agents.flatMap((agent) =>
    agent.sessions.map((session) => ({ ...session, agentId: agent.id })),
  );
  const busy = live.filter((session) => session.busy);
  const idle = live.length - busy.length;
  return (
    <section class="data" aria-labelledby="running-title">
      <h2 id="running-title">Running now</h2>
      {busy.length === 0 ? (
        <p class="empty small">No agent is answering.</p>
      ) : (
        <ul class="rows">
          {busy.slice(0, MOST).map(({ agentId, chatId, sessionId, lastActivity }) => (
            <li key={`${agentId}/${chatId}/${sessionId}`} class="row">
              <p>
                <strong class="busy">{agentName(agentId)}</strong>
                <span class="hint">
                  {chatId}, last activity {ago(lastActivity)}
                </span>
              </p>
              <a
                class="button"
                href={
                  chatId.startsWith(API_PREFIX)
                    ? hashOf({ view: "chat", agentId, chatId: chatId.slice(API_PREFIX.length), sessionId })
                    : hashOf({ view: "history", agentId, chatId, query: "" })
                }
              >
                Read along
              </a>
            </li>
          ))}
        </ul>
      )}
      <p class="hint">
        {busy.length > MOST && `${formatNumber(busy.length - MOST)} more are answering. `}
        {idle > 0 && `${conversations(idle)} ready for the next message. `}
        <a href={hashOf(pageRoute("system"))}>Everything that runs</a>
      </p>
    </section>
  );
}
