import type { Clock } from "../../lib/clock.ts";
import { createLineSplitter } from "../../lib/jsonl.ts";
import type { Logger } from "../../lib/logger.ts";
import { type ManagedProcess, spawnProcess } from "../../lib/process.ts";
import type { Reaper } from "../../lib/reaper.ts";
import { createUnreadLimit } from "../../lib/unread.ts";
import { type ControlChannel, createControlChannel } from "./control.ts";
import { createDeltaReader } from "./delta-lines.ts";
import { type AgentLine, type Fields, parseLine } from "./protocol.ts";
import type { RequestHandler } from "./requests.ts";

export interface ConnectionOptions {
  command: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string>>;
  reaper: Reaper | undefined;
  log: Logger;
  clock: Clock;
  requests: RequestHandler;
  onOutput?: (() => void) | undefined;
  /** Every line that is not part of the control channel, in order. */
  onLine(line: AgentLine): void;
  /** A line was too long to be kept. */
  onOverflow(): void;
}

/** A running agent program and both directions of its control channel. */
export interface Connection {
  readonly process: ManagedProcess;
  readonly control: ControlChannel;
  send(line: Fields): void;
}

/** Starts the agent program. @throws Error with one sentence when it cannot be started. */
export async function openConnection(options: ConnectionOptions): Promise<Connection> {
  const { requests, log, clock } = options;
  const write = (line: Fields) => child.write(`${JSON.stringify(line)}\n`);
  const send = (line: Fields) => void write(line);
  const control = createControlChannel(send, clock);

  const receive = (text: string) => {
    const line = parseLine(text);
    if (line === null) {
      log.debug({ chars: text.length }, "the agent program wrote a line that is not a message");
      return;
    }
    switch (line.kind) {
      case "control_request":
        return unread(
          requests.handle(line.id, line.request).then((answer) => answer && write(answer)),
          text.length,
        );
      case "control_cancel":
        return requests.cancel(line.id);
      case "control_response":
        return control.answered(line);
      default:
        return options.onLine(line);
    }
  };

  const lines = createLineSplitter(receive, {
    onOverflow: options.onOverflow,
    takeBytes: createDeltaReader((text) => options.onLine({ kind: "delta", of: "text", text })),
  });
  const child = await spawnProcess({
    command: options.command,
    cwd: options.cwd,
    env: options.env,
    log,
    clock,
    reaper: options.reaper,
    onStdout(chunk) {
      options.onOutput?.();
      lines.push(chunk);
    },
  });
  const unread = createUnreadLimit(child);
  void child.exited.then(() => {
    lines.end();
    control.end();
  });
  return { process: child, control, send };
}
