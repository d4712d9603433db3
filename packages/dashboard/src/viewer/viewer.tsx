import "../app/styles/base.css";
import "../app/styles/controls.css";
import "./viewer.css";
import { useSignal } from "@preact/signals";
import { render } from "preact";
import { useEffect } from "preact/hooks";
import { Choice } from "../components/Choice.tsx";
import { TerminalScreen } from "../components/terminal/TerminalScreen.tsx";
import { client, params, sentence, socketAddress } from "./place.ts";

type Reply = Awaited<ReturnType<typeof client.call<"pairedSessionsOf">>>;

function Viewer() {
  const known = useSignal<Reply | undefined>(undefined);
  const chosen = useSignal("");
  const trouble = useSignal("");
  useEffect(() => {
    client.call("pairedSessionsOf", { params }).then(
      (reply) => {
        known.value = reply;
        chosen.value = reply.sessions[0]?.sessionId ?? "";
      },
      (error) => {
        trouble.value = sentence(error);
      },
    );
  }, []);
  const { agentId = "", sessions = [] } = known.value ?? {};
  const address = async () => {
    const body = { sessionId: chosen.peek() };
    const { ticket } = await client.call("pairedTicket", { params, body });
    return socketAddress(agentId, ticket);
  };
  return (
    <main class="viewer">
      <h1>Terminal{agentId && ` of ${agentId}`}</h1>
      {trouble.value && (
        <p class="failure" role="alert">
          {trouble.value}
        </p>
      )}
      {known.value && sessions.length === 0 && <p class="empty">This agent has no sessions yet.</p>}
      {sessions.length > 0 && (
        <>
          <Choice
            label="Session"
            value={chosen.value}
            options={sessions.map(({ sessionId, sessionName, chatId, busy }) => [
              sessionId,
              `${sessionName ?? sessionId.slice(0, 8)} (${chatId}${busy ? ", busy" : ""})`,
            ])}
            onChoose={(sessionId) => {
              chosen.value = sessionId;
            }}
          />
          <TerminalScreen key={chosen.value} address={address} sentence={sentence} />
        </>
      )}
    </main>
  );
}

render(<Viewer />, document.getElementById("app") as HTMLElement);
