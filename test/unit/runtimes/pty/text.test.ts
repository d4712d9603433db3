import { describe, expect, it } from "vitest";
import { createInputLine } from "../../../../packages/gateway/src/runtimes/pty/input-line.ts";
import { keysOf } from "../../../../packages/gateway/src/runtimes/pty/keys.ts";
import { pasteOf, plainText } from "../../../../packages/gateway/src/runtimes/pty/paste.ts";
import { acceptingKey, readScreen } from "../../../../packages/gateway/src/runtimes/pty/reading.ts";
import { BUSY, BYPASS, BYPASS_NUMBERED, HELP, READY, TRUST } from "../../../fixtures/terminal/screens.ts";

describe("pasted text", () => {
  it("keeps newlines and tabs alone of the control characters [PTY-4]", () => {
    const hostile = "a\x1b[201~\x03\r\nb\tc\rd\x00\x7f\x9b31m\x15e";
    expect(plainText(hostile, false)).toBe("a[201~\nb\tc\nd31me");
    expect(pasteOf("x")).toBe("\x1b[200~x\x1b[201~");
    for (let code = 0; code < 0xa0; code++) {
      const char = String.fromCharCode(code);
      const kept = plainText(`x${char}y`, false);
      const printable = code >= 0x20 && (code < 0x7f || code > 0x9f);
      expect(kept).toBe(
        char === "\r" ? "x\ny" : printable || char === "\n" || char === "\t" ? `x${char}y` : "xy",
      );
    }
  });

  it("is no command, no shell line and no note, and its end holds no Enter back [PTY-4]", () => {
    expect(["/help me", "!ls", "#note", "plain"].map((text) => plainText(text, false))).toEqual([
      " /help me",
      " !ls",
      " #note",
      "plain",
    ]);
    expect(["see @src/a", "tail \\", "cd /usr"].map((text) => plainText(text, false))).toEqual([
      "see @src/a ",
      "tail \\ ",
      "cd /usr ",
    ]);
    // Claude Code itself looks for commands behind a space, but not in a paste of several lines.
    for (const text of ["/help me", "  /compact"])
      expect(plainText(text, true)).toMatch(/^\s*\/\w+.*\n\n\n$/);
  });
});

describe("the input line", () => {
  const state = (...keys: string[]) => {
    const line = createInputLine();
    const submitted = keys.map((key) => line.keys(key).submitted);
    return { empty: line.empty, submitted: submitted.at(-1) };
  };
  it.each([
    ["printable keys fill it", ["ab"], false],
    ["also outside Latin", ["é漢🙂"], false],
    ["arrows up and down fill it", ["\x1b[A"], false],
    ["in both forms", ["\x1bOB"], false],
    ["a paste fills it", ["\x1b[200~x\x1b[201~"], false],
    ["Backspace takes one", ["ab", "\x7f"], false],
    ["and the last one", ["ab", "\x7f\b"], true],
    ["Enter empties it", ["ab", "\r"], true],
    ["Ctrl-C empties it", ["ab\x03"], true],
    ["Ctrl-U empties it", ["ab\x15"], true],
    ["other sequences do not count", ["\x1b[C\x1b[D\x1b[1;5C\x1bOP\x1b[15~\x1bx\t"], true],
    ["Escape alone does not count", ["\x1b"], true],
  ])("%s [PTY-5]", (_, keys, empty) => {
    expect(state(...(keys as string[])).empty).toBe(empty);
  });
  it("tells whether something was submitted [PTY-7]", () => {
    expect(state("ab", "\r").submitted).toBe(true);
    expect(state("ab\r").submitted).toBe(true);
    expect(state("\r").submitted).toBe(false);
    expect(state("ab", "\x7f\x7f", "\r").submitted).toBe(false);
  });
  it("does not count what a viewer's terminal answers by itself [PTY-5]", () => {
    expect(keysOf("\x1b[?1;2ca\x1b[12;40R\x1b]11;rgb:00/00/00\x07b\x1bP>|xterm\x1b\\\x1b[I")).toBe("ab");
  });
});

const screens = { READY, BUSY, BYPASS, BYPASS_NUMBERED, TRUST, HELP };

describe("the screen", () => {
  it.each([
    ["READY", { ready: true, busy: false, dialog: null }],
    ["BUSY", { ready: true, busy: true, dialog: null }],
    ["BYPASS", { ready: false, busy: false, dialog: "permission-bypass" }],
    ["BYPASS_NUMBERED", { ready: false, busy: false, dialog: "permission-bypass" }],
    ["TRUST", { ready: false, busy: false, dialog: "folder-trust" }],
    ["HELP", { ready: false, busy: false, dialog: null }],
  ] as const)("%s is read [PTY-3]", (name, reading) => {
    expect(readScreen(screens[name])).toEqual(reading);
  });

  it("is not taken for busy by what somebody types, nor for ready by a list of choices [PTY-3]", () => {
    expect(readScreen(screens.READY.replace("❯\n", "❯ esc to interrupt\n")).busy).toBe(false);
    const rule = "─".repeat(40);
    expect(readScreen(`${rule}\n❯ 1. Yes\n  2. No\n${rule}`).ready).toBe(false);
    expect(readScreen(`${rule}\n> \n${rule}`).ready).toBe(true);
  });

  it("gives the next key for the safe answer, the caret first [PTY-6]", () => {
    expect(acceptingKey(screens.BYPASS_NUMBERED, "permission-bypass")).toEqual({ keys: "2", last: true });
    expect(acceptingKey(screens.BYPASS, "permission-bypass")).toEqual({ keys: "\x1b[B", last: false });
    const moved = screens.BYPASS.replace("❯ No", "  No").replace("  Yes", "❯ Yes");
    expect(acceptingKey(moved, "permission-bypass")).toEqual({ keys: "\r", last: true });
    const turned = moved.replace("❯ Yes, I accept", "  Yes, I accept\n  ❯ Something else");
    expect(acceptingKey(turned, "permission-bypass")).toEqual({ keys: "\x1b[A", last: false });
    expect(acceptingKey(screens.HELP, "permission-bypass")).toBeNull();
    expect(acceptingKey(screens.TRUST, "folder-trust")).toEqual({ keys: "\x1b[B", last: false });
  });
});
