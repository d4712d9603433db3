import { existsSync } from "node:fs";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { said, sessionsRig, until } from "../../fixtures/sessions-rig.ts";

const MINUTE = 60_000;
const spares = (rig: Awaited<ReturnType<typeof sessionsRig>>) =>
  rig.sessions.places().filter(({ chatId, runtime }) => chatId === "" && runtime);

describe("the places of an agent", () => {
  it("are its own: the session that was idle longest goes for a new one, and its caller is told when none is", async () => {
    const rig = await sessionsRig();
    const other = rig.agentOf("b");
    rig.agents.push(other);
    const apart = await rig.send("apart", { agent: other });
    (await rig.program(1)).end();
    await apart.done;
    const first = await said(rig, ["one", "1"]);
    rig.clock.advance(1_000);
    const second = await said(rig, ["two", "2"]);
    rig.clock.advance(1_000);
    // Now the first was used last.
    const again = await rig.send("three", { sessionId: first });
    (await rig.program(2, 2)).end();
    await again.done;
    rig.clock.advance(1_000);
    await said(rig, ["four", "4"]);
    expect(rig.sessions.places().map(({ sessionId }) => sessionId)).not.toContain(second);
    expect(rig.sessions.places()).toHaveLength(3);
    expect(rig.programs.map(({ closed }) => closed)).toEqual([false, false, true, false]);
    await rig.send("five", { sessionId: first });
    await rig.send("six");
    await expect(rig.send("seven")).rejects.toMatchObject({
      code: "CAPACITY",
      headers: { "Retry-After": "5" },
    });
    rig.agent.session.maxConcurrent = 3;
    await rig.send("eight");
  });

  it("are given up when a limit was lowered, as many as are too many", async () => {
    const rig = await sessionsRig();
    rig.agent.session.maxConcurrent = 4;
    for (const text of ["one", "two", "three"]) {
      await said(rig, [text, "answer"]);
      rig.clock.advance(1_000);
    }
    rig.agent.session.maxConcurrent = 2;
    await said(rig, ["four", "answer"]);
    expect(rig.sessions.places()).toHaveLength(2);
    expect(rig.programs.map(({ closed }) => closed)).toEqual([true, true, false, false]);
  });

  it("lose a process that dies: at once when it is idle, with the turn when it works [SES-14]", async () => {
    const rig = await sessionsRig();
    await said(rig, ["one", "1"]);
    rig.programs[0]!.die();
    await until(() => rig.sessions.places().length === 0);
    const turn = await rig.send("two");
    (await rig.program(2)).die();
    await new Promise((resolve) => setImmediate(resolve));
    expect((await turn.done).status).toBe("failed");
    expect(rig.sessions.places()).toEqual([]);
  });

  it("are given up after the idle time of now, also where a change shortened it [SES-11]", async () => {
    const rig = await sessionsRig();
    const id = await said(rig, ["one", "1"]);
    rig.clock.advance(2 * MINUTE);
    rig.agent.session.idleTimeoutMinutes = 3;
    rig.sessions.reconfigure();
    rig.clock.advance(MINUTE - 1);
    expect(rig.sessions.places()).toHaveLength(1);
    rig.clock.advance(1);
    expect(rig.sessions.places()).toEqual([]);
    await until(() => rig.programs[0]!.closed);
    expect(rig.log.text()).toContain("ended the process of an idle session");
    // What the program keeps there is the session's, not the process's.
    await rig.sessions.close();
    expect(existsSync(join(rig.folder, "a", "sessions", "api-c", id))).toBe(true);
  });

  it("of an agent that changed or went are given up, but for those in use [FAULT-6]", async () => {
    const rig = await sessionsRig();
    const [idle, busy] = [await said(rig, ["one", "1"]), await rig.send("two")];
    await rig.program(2);
    rig.sessions.reconfigure();
    expect(rig.sessions.places()).toHaveLength(2);
    rig.agents[0] = { ...rig.agent, env: { NEW: "1" } };
    rig.sessions.reconfigure();
    expect(rig.sessions.places().map(({ sessionId }) => sessionId)).toEqual([busy.sessionId]);
    rig.programs[1]!.end();
    await busy.done;
    const turn = await rig.send("three", { sessionId: busy.sessionId, agent: rig.agents[0] });
    const next = await rig.program(3);
    expect(next.options.env).toEqual({ NEW: "1" });
    next.end();
    await turn.done;
    expect(rig.programs.map(({ closed }) => closed)).toEqual([true, true, false]);
    rig.agents.length = 0;
    rig.sessions.reconfigure();
    expect(rig.sessions.places()).toEqual([]);
    expect(await rig.row(idle)).toBeDefined();
  });

  it("change their model without a new process where the program can, and only when it is another", async () => {
    for (const can of [true, false]) {
      const rig = await sessionsRig();
      rig.state.setsModel = can;
      const id = await said(rig, ["one", "1"]);
      for (const [number, text] of ["two", "three"].entries()) {
        await rig.sessions.setModel(await rig.row(id), "large");
        const turn = await rig.send(text, { sessionId: id });
        const program = await (can ? rig.program(1, number + 2) : rig.program(2, number + 1));
        program.end();
        await turn.done;
      }
      expect(rig.programs.map(({ models }) => models)).toEqual(can ? [["large"]] : [["large"], []]);
      expect(rig.programs[0]!.closed).toBe(!can);
      if (!can) expect(rig.programs[1]!.options).toMatchObject({ model: "large", resume: undefined });
    }
  });

  it("start two processes at a time, the others after them", async () => {
    const rig = await sessionsRig();
    rig.agent.session.maxConcurrent = 4;
    const { promise, resolve } = Promise.withResolvers<void>();
    let starting = 0;
    const runtimeFor = rig.deps.runtimeFor;
    rig.deps.runtimeFor = async (agent) => {
      const runtime = await runtimeFor(agent);
      return {
        ...runtime,
        open: async (options) => {
          starting++;
          await promise;
          return runtime.open(options);
        },
      };
    };
    for (const text of ["one", "two", "three"]) await rig.send(text);
    await until(() => starting === 2);
    for (let n = 0; n < 20; n++) await new Promise((done) => setImmediate(done));
    expect(starting).toBe(2);
    resolve();
    await rig.program(3);
    expect(starting).toBe(3);
  });
});

describe("a process", () => {
  it("has the agent's instructions, from its workspace or a file of the configuration", async () => {
    const rig = await sessionsRig();
    await mkdir(rig.agent.workspace, { recursive: true });
    const told = async (number: number) => {
      const turn = await rig.send("Hello");
      const { options, end } = await rig.program(number);
      end();
      await turn.done;
      return options.instructions;
    };
    expect(await told(1)).toBeUndefined();
    expect(rig.log.text()).not.toContain("could not read the agent's instructions");
    const file = join(rig.agent.workspace, "AGENTS.md");
    await writeFile(file, "Be kind.\n");
    expect(await told(2)).toBe("Be kind.\n");
    await writeFile(file, " \n");
    expect(await told(3)).toBeUndefined();
    rig.agent.instructions = join(rig.folder, "named.md");
    expect(await told(4)).toBeUndefined();
    expect(rig.log.text().split("could not read the agent's instructions")).toHaveLength(2);
    await writeFile(rig.agent.instructions, "Be brief.");
    expect(await told(5)).toBe("Be brief.");
  });

  it("is told of instructions that lead out of the workspace in the log alone", async () => {
    const rig = await sessionsRig();
    await mkdir(rig.agent.workspace, { recursive: true });
    await writeFile(join(rig.folder, "secret"), "secret");
    await symlink(join(rig.folder, "secret"), join(rig.agent.workspace, "AGENTS.md"));
    const turn = await rig.send("Hello");
    const { options, end } = await rig.program(1);
    end();
    await turn.done;
    expect(options.instructions).toBeUndefined();
    expect(rig.log.text()).toContain("could not read the agent's instructions");
  });

  it("calls the gateway's tools once it is on disk that the agent has begun, and shares nothing between turns [ACT-1]", async () => {
    const rig = await sessionsRig();
    const turn = await rig.send("Hello", { closing: () => [] });
    const program = await rig.program(1);
    const { scope } = rig.sessions.places()[0]!;
    rig.state.refused = new Error("disk full");
    const [tool] = program.options.tools;
    await expect(tool!.call({})).rejects.toThrow("could not record that the agent has begun");
    rig.state.refused = undefined;
    scope.takeShare();
    program.end();
    await turn.done;
    expect(scope.acting).toBeUndefined();
    expect(() => scope.takeShare()).toThrow("No turn is running");
    scope.onAttachment({ type: "image", url: "/x" });
    expect(await tool!.call({})).toBe("called");
    await program.options.acting!();
  });
});

it("a person at a program's terminal keeps it from being idle by typing; without a terminal there is none [SES-11]", async () => {
  const rig = await sessionsRig();
  const id = await said(rig, ["one", "1"]);
  expect(rig.sessions.terminal(id)).toBeUndefined();
  const typed: string[] = [];
  const terminal = { type: (keys: string) => typed.push(keys) };
  Object.assign(rig.sessions.places()[0]!.runtime!, { terminal });
  for (let minute = 0; minute < 8; minute++) {
    rig.clock.advance(MINUTE);
    rig.sessions.terminal(id)!.type("x");
  }
  expect([typed.length, rig.sessions.places().length]).toEqual([8, 1]);
  rig.clock.advance(5 * MINUTE);
  expect(rig.sessions.terminal(id)).toBeUndefined();
});

describe("spare processes", () => {
  const withSpares = async (warmSpares: number, maxConcurrent = 3) => {
    const rig = await sessionsRig();
    Object.assign(rig.agent.session, { warmSpares, maxConcurrent });
    await rig.sessions.fillSpares();
    await until(() => spares(rig).length === Math.min(warmSpares, maxConcurrent));
    return rig;
  };

  it("stand ready for new sessions, which take their ids; others follow while there is room [SES-17]", async () => {
    const rig = await withSpares(2);
    const ids = spares(rig).map(({ sessionId }) => sessionId);
    for (const text of ["one", "two"]) {
      const turn = await rig.send(text);
      expect(ids).toContain(turn.sessionId);
      const program = rig.programs.find(({ options }) => options.sessionId === turn.sessionId)!;
      await until(() => program.inputs.length === 1);
      program.end();
      await turn.done;
      const folder = join(rig.folder, "a", "sessions", "api-c", turn.sessionId);
      await until(() => existsSync(folder));
    }
    // A third process, and no fourth: three is the limit.
    await until(() => spares(rig).length === 1);
    expect([rig.programs.length, rig.sessions.places().length]).toEqual([3, 3]);
    const { sessionId } = await rig.sessions.create(rig.agent, "api-c", {});
    expect(rig.sessions.places().map((place) => place.sessionId)).toContain(sessionId);
    expect(rig.programs.map(({ options }) => options.history)).toEqual([[], [], []]);
  });

  it("are no more than the agent's places, and never idle; a taken one is", async () => {
    const rig = await withSpares(5, 2);
    rig.clock.advance(60 * MINUTE);
    expect(spares(rig)).toHaveLength(2);
    const { sessionId } = await rig.sessions.create(rig.agent, "api-c", {});
    expect(rig.sessions.places()).toHaveLength(2);
    rig.clock.advance(5 * MINUTE);
    expect(rig.sessions.places().map((place) => place.sessionId)).not.toContain(sessionId);
  });

  it("are as many as configured, however often they are counted", async () => {
    const rig = await withSpares(1);
    rig.sessions.reconfigure();
    await rig.sessions.fillSpares();
    expect([rig.sessions.places().length, rig.programs.length]).toEqual([1, 1]);
  });

  it("are left alone by a message with a history, or of an agent that has changed", async () => {
    const rig = await withSpares(1);
    const [spare] = spares(rig);
    const turn = await rig.send("Hello", { history: [{ role: "user", text: "before" }] });
    expect(turn.sessionId).not.toBe(spare!.sessionId);
    (await rig.program(2)).end();
    await turn.done;
    const changed = { ...rig.agent, env: { NEW: "1" } };
    const other = await rig.sessions.create(changed, "api-c", {});
    expect(other.sessionId).not.toBe(spare!.sessionId);
    expect(spares(rig)).toEqual([spare]);
  });

  it("that cannot start are tried again only when something changes, and leave no folder", async () => {
    const rig = await sessionsRig();
    rig.agent.session.warmSpares = 1;
    rig.state.broken = new Error("The agent is not installed.");
    await rig.sessions.fillSpares();
    await until(() => rig.log.text().includes("could not start a spare process"));
    expect(rig.sessions.places()).toEqual([]);
    await rig.sessions.close();
    rig.state.broken = undefined;
    rig.sessions.reconfigure();
    expect(rig.sessions.places()).toEqual([]);
  });

  it("and those of an earlier run leave no folder behind; one that is in use keeps its own [HOLD-5]", async () => {
    const rig = await sessionsRig();
    const folder = join(rig.folder, "a", "sessions", ".spare");
    await mkdir(join(folder, "left-over", "deep"), { recursive: true });
    rig.agent.session.warmSpares = 1;
    await rig.sessions.fillSpares();
    expect(existsSync(join(folder, "left-over"))).toBe(false);
    await until(() => spares(rig).length === 1);
    const own = join(folder, spares(rig)[0]!.sessionId);
    expect(existsSync(own)).toBe(true);
    await rig.sessions.fillSpares();
    expect(existsSync(own)).toBe(true);
    await rig.sessions.close();
    expect(existsSync(own)).toBe(false);
  });
});
