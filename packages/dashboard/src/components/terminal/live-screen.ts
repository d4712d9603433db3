import "@xterm/xterm/css/xterm.css";
import { FitAddon } from "@xterm/addon-fit";
import { Terminal } from "@xterm/xterm";
import { strictStyles } from "./strict-styles.ts";

/** The size of every agent's terminal. */
const COLS = 200;
const ROWS = 50;
const MIN_FONT = 5;
const MAX_FONT = 16;
/** Earlier lines that the gateway sends, and those that come while the page is open. */
const SCROLLBACK = 5000;
/** A frame takes 4 KiB; a character at most four bytes. */
const KEYS_PER_FRAME = 1000;

export type ScreenState = "connecting" | "live" | "closed";

export interface LiveScreenOptions {
  /** A new address of the socket; each is good for one connection. */
  address(): Promise<string>;
  /** Told with a sentence for people when the connection has ended. */
  onState(state: ScreenState, why?: string): void;
  /** The person pressed the keys that leave the terminal. */
  onLeave(): void;
}

const CLOSED: Readonly<Record<number, string>> = {
  1001: "The gateway is stopping.",
  4401: "Your access has ended.",
  4404: "This session has no terminal.",
  4410: "The program has ended.",
};

/** Shows the terminal of a session in an element. */
export function liveScreen(host: HTMLElement, { address, onState, onLeave }: LiveScreenOptions) {
  const freeStyles = strictStyles();
  const terminal = new Terminal({
    cols: COLS,
    rows: ROWS,
    scrollback: SCROLLBACK,
    disableStdin: true,
    fontFamily: getComputedStyle(host).getPropertyValue("--mono"),
    theme: { background: "#101216", foreground: "#e6e9ee" },
  });
  const fit = new FitAddon();
  terminal.loadAddon(fit);
  terminal.open(host);
  let socket: WebSocket | undefined;
  let typing = false;
  let over = false;

  terminal.attachCustomKeyEventHandler((event) => {
    // Otherwise nobody could leave it by the keyboard.
    if (event.ctrlKey && event.key === "]") {
      if (event.type === "keydown") onLeave();
      return false;
    }
    return typing;
  });
  terminal.onData((keys) => {
    if (!typing || socket?.readyState !== WebSocket.OPEN) return;
    const characters = [...keys];
    for (let at = 0; at < characters.length; at += KEYS_PER_FRAME)
      socket.send(characters.slice(at, at + KEYS_PER_FRAME).join(""));
  });

  /** The size is the program's: the letters fit the page. */
  const resize = () => {
    const cols = fit.proposeDimensions()?.cols;
    const size = terminal.options.fontSize;
    if (!cols || !size) return;
    const wanted = Math.max(MIN_FONT, Math.min(MAX_FONT, Math.floor((size * cols * 10) / COLS) / 10));
    if (Math.abs(wanted - size) >= 0.2) terminal.options.fontSize = wanted;
  };
  const observer = new ResizeObserver(resize);
  observer.observe(host);

  const connect = async () => {
    onState("connecting");
    const opened = new WebSocket(await address());
    if (over) return opened.close();
    socket = opened;
    opened.binaryType = "arraybuffer";
    opened.onmessage = ({ data }) => {
      onState("live");
      terminal.write(new Uint8Array(data as ArrayBuffer));
    };
    opened.onclose = ({ code }) => {
      if (!over) onState("closed", CLOSED[code] ?? "The connection was lost.");
    };
  };

  return {
    /** Connects, again if need be. Rejects when no address could be had. */
    async connect() {
      socket?.close();
      terminal.reset();
      await connect();
    },
    setTyping(on: boolean) {
      typing = on;
      terminal.options.disableStdin = !on;
      terminal.options.cursorBlink = on;
      if (on) terminal.focus();
      else terminal.blur();
    },
    close() {
      over = true;
      observer.disconnect();
      socket?.close();
      terminal.dispose();
      freeStyles();
    },
  };
}
