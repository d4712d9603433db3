import type { IncidentAction, IncidentStage } from "@agent-gateway/contract";
import type { HealingSettings, Look } from "./ports.ts";

/** What the watchdog may do in each stage, in this order. */
export const LADDERS: Readonly<Record<IncidentStage, readonly IncidentAction[]>> = {
  not_ready: ["restart"],
  no_output: ["restart"],
  dialog: [],
  busy_screen: ["restart"],
  exited: ["restart"],
};

/** A tool may be silent for longer than a model. */
const TOOL_SECONDS = 600;

/** Since when the agent owes a sign of life. */
const quietSince = ({ toldAt = 0, outputAt }: Look) => Math.max(toldAt, outputAt);

/** How long, in seconds, a turn has been in a stage that shows by waiting; undefined where it is not in it. */
export function stuckFor(
  stage: IncidentStage,
  seen: Look,
  settings: Pick<HealingSettings, "quietSeconds" | "readySeconds">,
  now: number,
): number | undefined {
  const beyond = (since: number | undefined, seconds: number) =>
    since !== undefined && now - since >= seconds * 1000 ? (now - since) / 1000 : undefined;
  switch (stage) {
    case "not_ready":
      return seen.phase === "starting" ? beyond(seen.startedAt, settings.readySeconds) : undefined;
    case "no_output": {
      const { quietSeconds } = settings;
      const limit = seen.toolRuns ? Math.max(TOOL_SECONDS, quietSeconds) : quietSeconds;
      return seen.phase === "working" ? beyond(quietSince(seen), limit) : undefined;
    }
    // The end of a process is told, and is not waited for.
    default:
      return undefined;
  }
}

/** Whether what was missing since `foundAt` has come. */
export function hasRecovered(stage: IncidentStage, seen: Look, foundAt: number): boolean {
  if (seen.phase !== "working") return false;
  if (stage === "not_ready") return true;
  const { toldAt = 0, heardAt, outputAt, produced } = seen;
  // Another process writes something when it starts; only work on the message counts there.
  if (toldAt >= foundAt || stage === "exited") return produced || heardAt > toldAt;
  return outputAt > foundAt;
}

const during = (seconds: number) => {
  const whole = Math.floor(seconds);
  return whole === 1 ? "1 second" : `${whole} seconds`;
};

/** What was seen, in one sentence. */
export function evidenceOf(stage: IncidentStage, seconds: number, toolRuns: boolean): string {
  switch (stage) {
    case "not_ready":
      return `The program was started ${during(seconds)} ago and is not ready yet.`;
    case "no_output":
      return `The program has written nothing for ${during(seconds)}${toolRuns ? " while a tool runs" : ""}.`;
    default:
      return "";
  }
}

/** What the chat is told when an incident is found. */
export const FOUND: Readonly<Record<IncidentStage, string>> = {
  not_ready: "The agent has not started up in time.",
  no_output: "The agent has stopped responding.",
  dialog: "The agent is waiting for someone to answer a question on its screen.",
  busy_screen: "The agent says that it is working, but nothing is happening.",
  exited: "The agent stopped unexpectedly while it was working.",
};
export const RECOVERED = "The agent is working again.";
export const NOT_RECOVERED = "The agent did not recover; this message was not answered completely.";
