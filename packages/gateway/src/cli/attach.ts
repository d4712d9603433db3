import { constants } from "node:os";
import type { WebSocket } from "ws";
import { connect } from "./connection.ts";
import { CliError, UsageError } from "./errors.ts";
import { GLOBAL_FLAGS, parseFlags, takeWords } from "./flags.ts";
import { note } from "./output.ts";

/** Ctrl+], as in telnet: no agent program uses it. */
const LEAVE = "\u001d";
/** A frame takes 4 KiB; a character at most four bytes. */
const KEYS_PER_FRAME = 1000;
/** A screen of its own, so that what stood there before comes back. */
const ENTER_SCREEN = "\u001b[?1049h\u001b[2J\u001b[H";
/** What the gateway sends before it draws the screen anew; here it would leave that screen. */
const RESET = "\u001bc";
/**
 * What a program may have switched on: mouse, focus and paste reports, keys of applications and of the keyboard protocol,
 * colours, a hidden cursor, and that screen.
 */
const LEAVE_SCREEN =
  "\u001b[?1000l\u001b[?1002l\u001b[?1003l\u001b[?1004l\u001b[?1006l\u001b[?2004l\u001b[?1l\u001b>\u001b[<u\u001b[0m\u001b[?25h\u001b[?1049l";
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
const COLS = 200;
const ROWS = 50;

const LOST = "The connection to the gateway was lost.";
const CLOSED: Readonly<Record<number, string>> = {
  1001: "The gateway is stopping.",
  4401: "The key may no longer look at this terminal.",
  4404: "This session has no terminal: its agent runs headless, or its program could not start.",
};
const PROGRAM_ENDED = 4410;

/** Puts the person's terminal into raw mode; the returned function restores it, however often it is called. */
function takeTerminal(): () => void {
  const { stdin, stdout } = process;
  let taken = true;
  const restore = () => {
    if (!taken) return;
    taken = false;
    stdin.setRawMode(false);
    stdin.pause();
    stdout.write(LEAVE_SCREEN);
    process.off("exit", restore);
    for (const signal of SIGNALS) process.off(signal, leave);
  };
  const leave = (signal: (typeof SIGNALS)[number]) => {
    restore();
    process.exit(128 + constants.signals[signal]);
  };
  process.on("exit", restore);
  for (const signal of SIGNALS) process.on(signal, leave);
  stdin.setRawMode(true);
  stdout.write(ENTER_SCREEN);
  return restore;
}

/** Carries keys and output to and fro. Resolves to the code that the socket closed with; undefined when the person left. */
function carry(socket: WebSocket): Promise<number | undefined> {
  const { stdin, stdout } = process;
  return new Promise((resolve) => {
    const send = (keys: string) => {
      const characters = [...keys];
      for (let at = 0; at < characters.length; at += KEYS_PER_FRAME)
        socket.send(characters.slice(at, at + KEYS_PER_FRAME).join(""));
    };
    stdin.setEncoding("utf8");
    stdin.on("data", (keys: string) => {
      const [typed = ""] = keys.split(LEAVE, 1);
      if (typed !== "" && socket.readyState === socket.OPEN) send(typed);
      if (typed.length < keys.length) resolve(undefined);
    });
    stdin.once("end", () => resolve(undefined));
    socket.on("message", (data) => {
      const bytes = data as Buffer;
      const anew = bytes.subarray(0, RESET.length).toString() === RESET;
      if (anew) stdout.write(`${LEAVE_SCREEN}${ENTER_SCREEN}`);
      if (stdout.write(anew ? bytes.subarray(RESET.length) : bytes)) return;
      socket.pause();
      stdout.once("drain", () => socket.resume());
    });
    socket.once("error", () => {});
    socket.once("close", (code) => resolve(code));
    stdin.resume();
    socket.resume();
  });
}

/** `sessions attach`: shows the terminal of a session in the person's own, and types into it. */
export async function attachCommand(tokens: readonly string[]): Promise<number> {
  const parsed = parseFlags(takeWords(tokens, 1).rest, GLOBAL_FLAGS);
  const [agentId, sessionId, more] = parsed.positionals;
  if (!agentId) throw new UsageError("Missing: agent.");
  if (!sessionId) throw new UsageError("Missing: session.");
  if (more !== undefined) throw new UsageError(`Unexpected argument: ${more}.`);
  const { stdin, stdout } = process;
  if (!stdin.isTTY || !stdout.isTTY) {
    throw new UsageError("sessions attach needs a terminal; `sessions screen` prints what is on the screen.");
  }
  const connection = connect(parsed, process.env);
  const answer = await connection.call("ptyStreamTicket", { body: { agentId, sessionId } });
  const { ticket } = (await answer.json()) as { ticket: string };
  const { WebSocket } = await import("ws");
  const path = `/api/v1/agents/${encodeURIComponent(agentId)}/pty-stream?ticket=${ticket}`;
  const socket = new WebSocket(`${connection.url.replace(/^http/, "ws")}${path}`, {
    perMessageDeflate: false,
  });
  await new Promise<void>((resolve, reject) => {
    socket.once("open", () => {
      // Nothing may come before there is a place for it.
      socket.pause();
      resolve();
    });
    socket.once("error", () => reject(new CliError(LOST)));
  });
  note(`Ctrl+] leaves the terminal of ${sessionId}; the program goes on.`);
  if (stdout.columns < COLS || stdout.rows < ROWS) {
    note(
      `The program's terminal has ${COLS} × ${ROWS} characters, yours ${stdout.columns} × ${stdout.rows}.`,
    );
  }
  const restore = takeTerminal();
  const code = await carry(socket).finally(restore);
  socket.terminate();
  if (code === undefined) note("Left; the program goes on.");
  else if (code === PROGRAM_ENDED) note("The program has ended.");
  else throw new CliError(CLOSED[code] ?? LOST);
  return 0;
}
