import { channel } from "node:diagnostics_channel";
import type { ChannelStep } from "./channels/index.ts";
import type { CronStep } from "./crons/index.ts";
import type { TurnStep } from "./sessions/index.ts";

/**
 * Each labelled step of a turn or a channel message is published here, synchronously, as the label's text. There are
 * no listeners in normal operation; the crash tests end the process from one.
 */
export const TURN_STEPS = "agent-gateway:turn-step";

const steps = channel(TURN_STEPS);

export function publishStep(label: TurnStep | ChannelStep | CronStep): void {
  if (steps.hasSubscribers) steps.publish(label);
}
