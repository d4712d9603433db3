import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { keysOf } from "../../../packages/gateway/src/terminal/live.ts";
import { createScreen, type Reader } from "../../../packages/gateway/src/terminal/screen.ts";
import { liveTerminal } from "../../fixtures/live-terminal.ts";

const MIB = 1024 * 1024;

/** A reader that takes what it was sent when it is told to. */
function reader() {
  const got: Buffer[] = [];
  const unread: Array<{ size: number; sent: () => void }> = [];
  let closed: number | undefined;
  const self: Reader = {
    get bufferedAmount() {
      return unread.reduce((sum, { size }) => sum + size, 0);
    },
    send(bytes, sent) {
      got.push(Buffer.from(bytes));
      unread.push({ size: bytes.length, sent });
    },
    close: (code) => {
      closed = code;
    },
  };
  return {
    self,
    got,
    closed: () => closed,
    text: () => Buffer.concat(got).toString(),
    unread: () => self.bufferedAmount,
    take() {
      for (let next = unread.shift(); next; next = unread.shift()) next.sent();
    },
  };
}

describe("a screen", () => {
  it("is drawn first, then followed; output of one turn of the loop goes out together [TERM-2]", async () => {
    const { terminal, write } = liveTerminal();
    const screen = createScreen(terminal);
    write("before ");
    const one = reader();
    screen.add(one.self);
    await turn();
    write("a");
    write("b");
    await turn();
    write("c");
    await turn();
    expect(one.got.map(String)).toEqual(["before ", "ab", "c"]);
  });

  it("loses and repeats nothing while others come and snapshots are slow [TERM-2]", async () => {
    const { terminal, write, hold } = liveTerminal();
    const screen = createScreen(terminal);
    const [one, two, three] = [reader(), reader(), reader()];
    screen.add(one.self);
    await turn();
    const release = hold();
    screen.add(two.self);
    write("1");
    await turn();
    screen.add(three.self);
    write("2");
    release();
    await turn();
    write("3");
    await turn();
    expect(one.text()).toBe("123");
    expect(two.got.map(String)).toEqual(["12", "3"]);
    expect(three.got.map(String)).toEqual(["12", "3"]);
  });

  it("keeps nothing for a reader that is 1 MiB behind, and draws it the screen when it has read [TERM-4]", async () => {
    const { terminal, write, shown } = liveTerminal();
    const screen = createScreen(terminal);
    const [slow, quick] = [reader(), reader()];
    screen.add(slow.self);
    screen.add(quick.self);
    await turn();
    const chunk = "x".repeat(64 * 1024);
    let sent = 0;
    for (; sent < 100; sent++) {
      write(chunk);
      await turn();
      quick.take();
    }
    expect(quick.text()).toHaveLength(100 * chunk.length);
    expect(slow.unread()).toBeGreaterThanOrEqual(MIB);
    expect(slow.unread()).toBeLessThan(MIB + 2 * chunk.length);
    const before = slow.got.length;
    slow.take();
    await turn();
    expect(slow.got.length).toBe(before + 1);
    expect(String(slow.got.at(-1))).toBe(`\u001bc${shown()}`);
    slow.take();
    write("after");
    await turn();
    expect(String(slow.got.at(-1))).toBe("after");
  });

  it("closes every reader with 4410 when the program ends, also one that comes later [TERM-5]", async () => {
    const { terminal, write, end } = liveTerminal();
    const screen = createScreen(terminal);
    const [one, late] = [reader(), reader()];
    screen.add(one.self);
    await turn();
    write("last words");
    end();
    await turn();
    expect(one.text()).toBe("last words");
    expect(one.closed()).toBe(4410);
    screen.add(late.self);
    expect(late.closed()).toBe(4410);
  });

  it("closes with 4410 when the screen cannot be drawn any more [TERM-5]", async () => {
    const { terminal } = liveTerminal();
    const screen = createScreen({ ...terminal, snapshot: () => Promise.reject(new Error("gone")) });
    const one = reader();
    screen.add(one.self);
    await turn();
    expect(one.closed()).toBe(4410);
  });

  it("listens to the terminal only while somebody looks [TERM-2]", async () => {
    const { terminal, write, listeners } = liveTerminal();
    const screen = createScreen(terminal);
    const one = reader();
    screen.add(one.self);
    await turn();
    expect(listeners.size).toBe(1);
    screen.remove(one.self);
    expect(listeners.size).toBe(0);
    write("unseen ");
    const two = reader();
    screen.add(two.self);
    await turn();
    write("seen");
    await turn();
    expect(two.got.map(String)).toEqual(["unseen ", "seen"]);
  });

  it("shows every reader a prefix of the truth, however they come, read and leave [TERM-2, TERM-4]", async () => {
    const step = fc.oneof(
      fc.constant("write" as const),
      fc.constant("turn" as const),
      fc.nat(3).map((who) => ({ join: who })),
      fc.nat(3).map((who) => ({ take: who })),
      fc.nat(3).map((who) => ({ leave: who })),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const { terminal, write, shown } = liveTerminal();
        const screen = createScreen(terminal);
        const readers = new Map<number, ReturnType<typeof reader>>();
        let count = 0;
        /** What a reader has on its screen: a snapshot begins with "<" and replaces everything. */
        const seen = (one: ReturnType<typeof reader>) => one.text().slice(one.text().lastIndexOf("<"));
        write("<");
        for (const one of steps) {
          if (one === "write") write(`${count++},`.padEnd(300 * 1024, "."));
          else if (one === "turn") await turn();
          else if ("join" in one && !readers.has(one.join)) {
            const made = reader();
            readers.set(one.join, made);
            screen.add(made.self);
          } else if ("take" in one) readers.get(one.take)?.take();
          else if ("leave" in one) {
            const left = readers.get(one.leave);
            if (left) screen.remove(left.self);
            readers.delete(one.leave);
          }
          for (const each of readers.values()) expect(shown().startsWith(seen(each))).toBe(true);
        }
        for (let rounds = 0; rounds < 4; rounds++) {
          for (const each of readers.values()) each.take();
          await turn();
        }
        for (const each of readers.values()) expect(seen(each)).toBe(shown());
      }),
      { numRuns: 60 },
    );
  });

  it("takes text frames of up to 4 KiB as keys and nothing else [TERM-3]", () => {
    expect(keysOf(Buffer.from("ls\r"), false)).toBe("ls\r");
    expect(keysOf(Buffer.from("\u001b[A"), false)).toBe("\u001b[A");
    expect(keysOf(Buffer.alloc(4096, "a"), false)).toHaveLength(4096);
    expect(keysOf(Buffer.alloc(4097, "a"), false)).toBeUndefined();
    expect(keysOf(Buffer.alloc(0), false)).toBeUndefined();
    expect(keysOf(Buffer.from("ls"), true)).toBeUndefined();
  });
});
