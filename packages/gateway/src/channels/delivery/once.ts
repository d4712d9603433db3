import type { OutboxRow } from "../../store/index.ts";
import type { SendOutcome } from "../types.ts";

/** What is sent for a caller who waits for it, or is soon of no use, is tried once. */
export const ONCE: ReadonlySet<OutboxRow["purpose"]> = new Set(["direct", "progress"]);

/** The outcome of the only attempt. */
export const final = (outcome: SendOutcome): SendOutcome =>
  outcome.status === "sent" || outcome.status === "unknown"
    ? outcome
    : { status: "failed", reason: outcome.reason };
