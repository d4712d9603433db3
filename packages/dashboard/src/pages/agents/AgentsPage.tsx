import { DialogHost } from "../../components/Dialog.tsx";
import { agents } from "../../state/place.ts";
import { route } from "../../state/route.ts";
import { AgentForms } from "./AgentForms.tsx";
import { AgentList } from "./AgentList.tsx";

/** All agents, or one of them to be changed. */
export function AgentsPage() {
  const at = route.value;
  const wanted = at.view === "page" ? at.path[0] : undefined;
  const agent = agents.value?.find(({ id }) => id === wanted);
  return (
    <main class="page">
      {!agents.value ? (
        <>
          <h1>Agents</h1>
          <p class="empty late">Loading…</p>
        </>
      ) : agent ? (
        <AgentForms key={agent.id} agent={agent} />
      ) : (
        <AgentList agents={agents.value} lost={wanted} />
      )}
      <DialogHost />
    </main>
  );
}
