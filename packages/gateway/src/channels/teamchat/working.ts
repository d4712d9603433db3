import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { deadline } from "../support/exchange.ts";
import type { Target } from "../types.ts";
import { clientFor, type Settings } from "./client.ts";
import { platformError } from "./errors.ts";

const NAME = "hourglass_flowing_sand";
const CALL_MS = 10_000;

/** A reaction on the message while the agent works on it; nothing if the app may not react. */
export function createWorking(settings: Settings, clock: Clock, log: Logger, closing: AbortSignal) {
  let allowed = true;

  const react = async (method: "add" | "remove", channel: string, timestamp: string): Promise<void> => {
    const late = deadline(clock, CALL_MS, closing);
    try {
      await clientFor(settings, late.signal).reactions[method]({ channel, timestamp, name: NAME });
    } catch (error) {
      if (platformError(error) === "missing_scope" && allowed) {
        allowed = false;
        log.info({}, "the Slack app lacks the scope reactions:write, so messages get no hourglass");
      }
    } finally {
      late.end();
    }
  };

  return ({ chatId, messageId }: Target): (() => void) => {
    if (!allowed || messageId === undefined) return () => {};
    const added = react("add", chatId, messageId);
    let over = false;
    return () => {
      if (over) return;
      over = true;
      void added.then(() => (allowed ? react("remove", chatId, messageId) : undefined));
    };
  };
}
