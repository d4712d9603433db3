import type { RuntimeStatus } from "@agent-gateway/contract";
import { problemOf } from "./runtime.ts";

/** What keeps an agent from working and, if requested, its warnings; nothing when all is well. */
export function AgentNotice({ status, warnings }: { status: RuntimeStatus | undefined; warnings: boolean }) {
  if (!status) return null;
  const problem = problemOf(status);
  return (
    <>
      {problem && (
        <p class="notice error" role="alert">
          {problem}
        </p>
      )}
      {warnings &&
        status.warnings.map((warning) => (
          <p key={warning} class="notice warning">
            {warning}
          </p>
        ))}
    </>
  );
}
