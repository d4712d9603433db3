import { spawn } from "node:child_process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { attachTo } from "./fixtures/attach.ts";
import { terminalRig } from "./fixtures/terminal-rig.ts";
import { bin } from "./harness.ts";

let rig: Awaited<ReturnType<typeof terminalRig>>;
beforeAll(async () => {
  rig = await terminalRig();
});
afterAll(() => rig[Symbol.asyncDispose]());

const attach = (session: string) => attachTo(session, { url: rig.server.url, key: "the-admin-key" });

describe("sessions attach", () => {
  it("shows the terminal, carries keys, and leaves by Ctrl+] [TERM-7]", async () => {
    const { write, typed } = rig.terminals.get("s1")!;
    write("the screen");
    const person = attach("s1");
    await person.shows("Ctrl+] leaves");
    await person.shows("the screen");
    // Raw: nothing is echoed, kept until a line ends, or taken as a signal.
    person.type("a\u0003é");
    await expect.poll(() => typed.join("")).toBe("a\u0003é");
    write(" and more");
    await person.shows(" and more");
    person.type("b\u001dc");
    expect(await person.left()).toBe(0);
    expect(typed.join("")).toBe("a\u0003éb");
    expect(person.output()).toContain("the program goes on");
  });

  it("gives the terminal back when it is killed, and when the program ends [TERM-7]", async () => {
    const killed = attach("s1");
    await killed.shows("the screen");
    process.kill(killed.pid(), "SIGTERM");
    expect(await killed.left()).toBe(143);
    const ended = attach("s1");
    await ended.shows("the screen");
    rig.terminals.get("s1")!.end();
    expect(await ended.left()).toBe(0);
    expect(ended.output()).toContain("The program has ended.");
  });

  it("has a sister that prints the screen [TERM-6]", async () => {
    const child = spawn(process.execPath, [bin, "sessions", "screen", "s1", "--key", "the-plain-key"], {
      env: { ...process.env, GATEWAY_URL: rig.server.url },
      stdio: ["ignore", "pipe", "inherit"],
    });
    let output = "";
    child.stdout.on("data", (chunk) => {
      output += chunk;
    });
    const code = await new Promise((resolve) => child.once("close", resolve));
    expect([code, output]).toEqual([0, `${rig.terminals.get("s1")!.shown()}\n`]);
  });

  it("says in a sentence why there is nothing to see [TERM-7]", async () => {
    rig.state.headless = true;
    const person = attach("s2");
    expect(await person.left()).toBe(1);
    expect(person.output()).toContain("This session has no terminal");
    rig.state.headless = false;
  });
});
