import { useEffect } from "preact/hooks";
import { DialogHost } from "../../components/Dialog.tsx";
import { connectors, loadConnectors } from "../../state/connectors.ts";
import { notify } from "../../state/notices.ts";
import { poll } from "../../state/poll.ts";
import { ConnectorForm } from "./ConnectorForm.tsx";
import { ConnectorRow } from "./ConnectorRow.tsx";
import { signInFailure } from "./words.ts";

const EVERY_MS = 10_000;
/** What the gateway puts into the address that a failed sign-in returns to. */
const FAILED = "connector_oauth_error";

/** Says how a sign-in ended that came back to this page, once. */
function tellReturn(): void {
  const address = new URL(location.href);
  const code = address.searchParams.get(FAILED);
  if (code === null) return;
  address.searchParams.delete(FAILED);
  history.replaceState(history.state, "", address);
  notify(signInFailure(code), "error");
}

/** MCP servers that agents can use: what is missing, and all that can be done with them. */
export function ConnectorsPage() {
  useEffect(tellReturn, []);
  useEffect(
    () =>
      poll(loadConnectors, EVERY_MS, {
        by: ["agent", "config", "connector"],
        // No event tells of attempts to refresh a token, nor of the first of several secrets.
        wholly: () => connectors.peek()?.every(({ connected, refresh }) => connected && !refresh) ?? false,
      }),
    [],
  );
  const list = connectors.value;
  return (
    <main class="page">
      <h1>Connectors</h1>
      {!list ? (
        <p class="empty late">Loading…</p>
      ) : (
        <>
          {list.length === 0 && (
            <p class="empty">
              There are no connectors yet. A connector gives agents the tools of an MCP server.
            </p>
          )}
          <ul class="rows" aria-label="Connectors">
            {list.map((connector) => (
              <ConnectorRow key={connector.id} connector={connector} />
            ))}
          </ul>
          <details class="fold">
            <summary>New connector</summary>
            <ConnectorForm />
          </details>
        </>
      )}
      <DialogHost />
    </main>
  );
}
