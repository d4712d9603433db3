import type { IncidentAction, IncidentStage } from "@agent-gateway/contract";
import type { HealingSettings, Look, Screen } from "./ports.ts";

/** What may be done in each stage, in this order. */
const LADDERS: Readonly<Record<IncidentStage, readonly IncidentAction[]>> = {
  not_ready: ["restart", "headless"],
  no_output: ["key", "restart"],
  dialog: ["key"],
  busy_screen: ["key", "restart", "headless"],
  exited: ["restart"],
};
const IN_TERMINAL: ReadonlySet<IncidentAction> = new Set(["key", "headless"]);

/** What may be done in a stage: without a terminal there is no key to press, and nothing to go back from. */
export const ladderOf = (stage: IncidentStage, hasTerminal: boolean): IncidentAction[] =>
  LADDERS[stage].filter((action) => hasTerminal || !IN_TERMINAL.has(action));

/** What is to be seen of a turn, and on its screen, if it has one. */
export interface Seen extends Look {
  screen?: Screen & {
    /** Since when the question stands there. */
    dialogSince: number | undefined;
    text: string;
  };
}

const DIALOG_SECONDS = 10;
/** A tool may be silent for longer than a model. */
const TOOL_SECONDS = 600;

/** Since when the agent owes a sign of life. */
const quietSince = ({ toldAt = 0, outputAt }: Look) => Math.max(toldAt, outputAt);
const hasBegun = ({ toldAt = 0, heardAt, produced }: Look) => produced || heardAt > toldAt;

/** How long, in seconds, a turn has been in a stage that shows by waiting; undefined where it is not in it. */
export function stuckFor(
  stage: IncidentStage,
  seen: Seen,
  settings: Pick<HealingSettings, "quietSeconds" | "readySeconds">,
  now: number,
): number | undefined {
  const beyond = (since: number | undefined, seconds: number) =>
    since !== undefined && now - since >= seconds * 1000 ? (now - since) / 1000 : undefined;
  const { phase, screen } = seen;
  const { quietSeconds } = settings;
  const quiet = seen.toolRuns ? Math.max(TOOL_SECONDS, quietSeconds) : quietSeconds;
  const working = phase === "working";
  switch (stage) {
    case "not_ready": {
      const waits = working && screen && !screen.ready && !screen.busy && screen.dialog === null;
      const isStarting = phase === "starting" || (waits && !hasBegun(seen));
      return isStarting ? beyond(seen.startedAt, settings.readySeconds) : undefined;
    }
    case "no_output":
      return working && !screen?.busy && !screen?.dialog ? beyond(quietSince(seen), quiet) : undefined;
    case "dialog":
      return beyond(screen?.dialogSince, DIALOG_SECONDS);
    case "busy_screen":
      return working && screen?.busy ? beyond(Math.max(quietSince(seen), seen.heardAt), quiet) : undefined;
    // The end of a process is told, and is not waited for.
    default:
      return undefined;
  }
}

/** Whether what was missing since `foundAt` has come. */
export function hasRecovered(stage: IncidentStage, seen: Seen, foundAt: number): boolean {
  const { phase, screen, toldAt = 0, outputAt } = seen;
  if (stage === "dialog" && screen) return screen.dialog === null;
  if (phase !== "working") return false;
  if (stage === "not_ready") return !screen || screen.ready || screen.busy || hasBegun(seen);
  // Another process writes something when it starts; only work on the message counts there.
  if (toldAt >= foundAt || stage === "exited") return hasBegun(seen);
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
    case "dialog":
      return `A question has been on the screen for ${during(seconds)}.`;
    case "busy_screen":
      return `The screen says that the program is busy, but nothing has changed for ${during(seconds)}.`;
    case "exited":
      return "The program has ended.";
    default:
      return stage satisfies never;
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
