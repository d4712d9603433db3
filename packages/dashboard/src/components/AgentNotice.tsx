import type { RuntimeStatus } from "@agent-gateway/contract";
import { problemOf } from "./runtime.ts";

/** What keeps an agent from working, and what its owner should know; nothing when all is well. */
export function AgentNotice({ status }: { status: RuntimeStatus | undefined }) {
  if (!status) return null;
  const problem = problemOf(status);
  return (
    <>
      {problem && (
        <p class="notice error" role="alert">
          {problem}
        </p>
      )}
      {status.warnings.map((warning) => (
        <p key={warning} class="notice warning">
          {warning}
        </p>
      ))}
    </>
  );
}
