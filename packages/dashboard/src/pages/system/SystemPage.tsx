import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { client } from "../../api/client.ts";
import type { Processes } from "../../api/types.ts";
import { Fact } from "../../components/Fact.tsx";
import { duration, formatNumber } from "../../components/format.ts";
import { auth } from "../../state/auth.ts";
import { poll } from "../../state/poll.ts";
import { status } from "../../state/sessions.ts";
import { AgentTable } from "./AgentTable.tsx";
import { LiveSessionTable } from "./LiveSessionTable.tsx";
import { Packages } from "./Packages.tsx";
import { ProcessTable } from "./ProcessTable.tsx";
import { Transfer } from "./Transfer.tsx";

const EVERY_MS = 5000;

/** Everything that is running: agents, live sessions and processes. */
export function SystemPage() {
  const keyless = auth.value === "keyless";
  const processes = useSignal<Processes | undefined>(undefined);
  const stale = useSignal(false);
  useEffect(
    () =>
      poll(async (signal) => {
        try {
          processes.value = await client.call("processes", { signal });
          stale.value = false;
        } catch (error) {
          stale.value = true;
          throw error;
        }
      }, EVERY_MS),
    [],
  );
  const now = status.value;
  return (
    <main class="page">
      <h1>System</h1>
      {keyless && (
        <p class="notice info" role="status">
          This gateway has no API key, so only its status can be shown. Add an admin key to its configuration
          to talk to agents here.
        </p>
      )}
      {stale.value && (
        <p class="notice error" role="alert">
          The gateway is not responding. This is its last known state.
        </p>
      )}
      {!now ? (
        <p class="empty">Loading…</p>
      ) : (
        <>
          <dl class="facts">
            <Fact name="State" value={now.status} />
            <Fact name="Version" value={now.version} />
            <Fact name="Up for" value={duration(Date.now() - now.startedAt)} />
            <Fact name="Agents" value={formatNumber(now.agents.length)} />
            <Fact
              name="Live sessions"
              value={formatNumber(now.agents.reduce((sum, agent) => sum + agent.sessions.length, 0))}
            />
          </dl>
          <AgentTable agents={now.agents} />
          <LiveSessionTable agents={now.agents} />
        </>
      )}
      {!keyless && <Packages />}
      {!keyless && <Transfer />}
      {processes.value && <ProcessTable processes={processes.value} />}
    </main>
  );
}
