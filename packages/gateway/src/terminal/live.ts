import { GatewayError } from "@agent-gateway/contract";
import type { WebSocket } from "ws";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import type { LiveTerminal } from "../runtimes/index.ts";
import { createScreen, type Reader, type Screen } from "./screen.ts";

/** Close code of the contract: there is nothing to watch. */
const NO_TERMINAL = 4404;
/** RFC 6455, section 7.4.1. */
const INTERNAL = 1011;
const MAX_KEYS_BYTES = 4 * 1024;
/** RFC 6455, section 5.5: what a control frame holds, without the code. */
const MAX_REASON_BYTES = 123;
/** Proxies close connections on which nothing happens for a minute. */
const PING_MS = 30_000;

/** Shows terminals on WebSockets. */
export interface LiveScreens {
  /** Takes over a socket that was opened for a session's terminal. */
  serve(socket: WebSocket, open: () => Promise<LiveTerminal | undefined>): Promise<void>;
}

/** Keystrokes in a message; undefined for one that is dropped. */
export function keysOf(data: Buffer, isBinary: boolean): string | undefined {
  if (isBinary || data.length === 0 || data.length > MAX_KEYS_BYTES) return undefined;
  return data.toString("utf8");
}

const cutBytes = (text: string) => {
  let end = text.length;
  while (Buffer.byteLength(text.slice(0, end)) > MAX_REASON_BYTES) end--;
  return text.slice(0, end);
};

export function createLiveScreens({ clock, log }: { clock: Clock; log: Logger }): LiveScreens {
  const screens = new WeakMap<LiveTerminal, Screen>();
  const screenOf = (terminal: LiveTerminal): Screen => {
    let screen = screens.get(terminal);
    if (!screen) {
      screen = createScreen(terminal);
      screens.set(terminal, screen);
    }
    return screen;
  };
  const join = (socket: WebSocket, terminal: LiveTerminal) => {
    const screen = screenOf(terminal);
    const reader: Reader = {
      get bufferedAmount() {
        return socket.bufferedAmount;
      },
      send: (bytes, sent) => socket.send(bytes, { binary: true }, sent),
      close: (code, reason) => socket.close(code, reason),
    };
    const cancelPing = clock.every(PING_MS, () => socket.ping());
    socket.on("message", (data, isBinary) => {
      const keys = keysOf(data as Buffer, isBinary);
      if (keys !== undefined && socket.readyState === socket.OPEN) terminal.type(keys);
    });
    socket.once("close", () => {
      cancelPing();
      screen.remove(reader);
    });
    screen.add(reader);
  };
  return {
    async serve(socket, open) {
      // Keys that come before the terminal is there wait with their sender.
      socket.pause();
      try {
        const terminal = await open();
        if (socket.readyState !== socket.OPEN) return socket.resume();
        if (terminal) join(socket, terminal);
        else socket.close(NO_TERMINAL, "This session has no terminal.");
      } catch (error) {
        if (error instanceof GatewayError) socket.close(NO_TERMINAL, cutBytes(error.message));
        else {
          log.warn({ err: error }, "could not show a terminal");
          socket.close(INTERNAL, "The terminal could not be shown.");
        }
      }
      socket.resume();
    },
  };
}
