import { describe, expect, it } from "vitest";
import { sessionsRig, until } from "../../fixtures/sessions-rig.ts";

describe("a turn", () => {
  it("stores the message and the reply, counts both, and tells both [TURN-1]", async () => {
    const rig = await sessionsRig();
    const turn = await rig.send("Hello\nthere");
    expect(rig.counted).toEqual(["received"]);
    const program = await rig.program(1);
    rig.clock.advance(40);
    program.emit({ type: "text", text: "Hi" });
    program.end({ text: "Hi", model: "m", contextPercent: 7 });
    expect(await turn.done).toMatchObject({
      status: "done",
      text: "Hi",
      stored: true,
      durationMs: 40,
      usage: { inputTokens: 1 },
    });
    expect(rig.messages()).toEqual([
      ["user", "Hello\nthere", {}],
      ["assistant", "Hi", {}],
    ]);
    expect(rig.counted).toEqual(["received", "sent", "done"]);
    expect(rig.told.map(({ type }) => type)).toEqual([
      "session.created",
      "message.received",
      "turn.started",
      "turn.finished",
    ]);
    expect(rig.used).toMatchObject([
      { agentId: "a", keyId: null, chatId: "api-c", model: "m", chars: { told: 11, said: 2 } },
    ]);
    expect(await rig.row(turn.sessionId)).toMatchObject({ name: "Hello", model: "m", context_percent: 7 });
    expect(rig.turns()).toEqual([{ kind: "message", state: "done" }]);
    expect(rig.sessions.kept(turn.sessionId).map(({ requestId }) => requestId)).toEqual(["r1"]);
    await rig.sessions.kept(turn.sessionId)[0]!.stop();
  });

  it("whose agent only ends with a text streams that text once", async () => {
    const rig = await sessionsRig();
    const turn = await rig.send("Hello");
    (await rig.program(1)).end({ text: "All at once" });
    await turn.done;
    expect(turn.log.text).toBe("All at once");
    const events = [];
    for await (const { type } of turn.log.events({ seq: 0, textEnd: 0 })) events.push(type);
    expect(events).toEqual(["text_delta", "result"]);
  });

  it("keeps what was shown where the agent fails with less, and what the agent says where it is done [TURN-19]", async () => {
    const rig = await sessionsRig();
    const first = await rig.send("one");
    let program = await rig.program(1);
    program.emit({ type: "text", text: "Half an answ" });
    program.end({ status: "failed", text: "Half", error: "It broke." });
    expect(await first.done).toMatchObject({ status: "failed", text: "Half an answ", error: "It broke." });
    const second = await rig.send("two", { sessionId: first.sessionId });
    program = await rig.program(1, 2);
    program.emit({ type: "text", text: "A long draft" });
    program.end({ text: "Final" });
    expect(await second.done).toMatchObject({ status: "done", text: "Final" });
    expect(rig.messages()).toEqual([
      ["user", "one", {}],
      [
        "assistant",
        "Half an answ",
        { interrupted: true, error: { code: "AGENT_FAILED", message: "It broke." } },
      ],
      ["user", "two", {}],
      ["assistant", "Final", {}],
    ]);
    expect(rig.log.text()).toContain("turn failed");
    expect(rig.counted).toEqual(["received", "sent", "failed", "received", "sent", "done"]);
  });

  it("without any reply stores no message, and counts none as sent", async () => {
    const rig = await sessionsRig();
    const turn = await rig.send("Hello");
    (await rig.program(1)).end();
    expect((await turn.done).text).toBe("");
    expect(rig.messages()).toEqual([["user", "Hello", {}]]);
    expect(rig.counted).toEqual(["received", "done"]);
    // The program's own session goes on from the message.
    expect(JSON.parse((await rig.row(turn.sessionId)).runtime_state!)).toMatchObject({ token: "token-1" });
  });

  it("that only used tools stores what it did", async () => {
    const rig = await sessionsRig();
    const turn = await rig.send("Hello");
    const program = await rig.program(1);
    program.emit({ type: "tool_use", name: "Bash", id: "1" });
    program.emit({ type: "tool_result", id: "1", isError: false });
    program.end();
    await turn.done;
    expect(rig.messages()[1]).toEqual(["assistant", "", {}]);
    expect(rig.counted).toEqual(["received", "done"]);
  });

  it("whose agent cannot start fails with its sentence, or with one that hides what was not written for people", async () => {
    const rig = await sessionsRig();
    rig.state.broken = new Error("The agent is not installed.");
    const first = await rig.send("one");
    expect(await first.done).toMatchObject({
      status: "failed",
      error: "The agent is not installed.",
      text: "",
    });
    expect(rig.log.text()).not.toContain("could not run the agent");
    rig.state.broken = Object.assign(new Error("ENOENT /secret"), { code: "ENOENT" });
    const second = await rig.send("two", { sessionId: first.sessionId });
    expect((await second.done).error).toMatch(/^Could not run the agent/);
    expect(rig.log.text()).toContain("could not run the agent");
    // It was told nothing, so nothing is estimated.
    expect(rig.used[0]).toMatchObject({ chars: { told: 0, said: 0 } });
    expect(rig.turns().map(({ state }) => state)).toEqual(["failed", "failed"]);
  });

  it("is told again to a new process where one that stood ready had gone, and only there", async () => {
    const rig = await sessionsRig();
    const first = await rig.send("one");
    (await rig.program(1)).end({ status: "failed", unread: true, error: "gone" });
    expect(await first.done).toMatchObject({ status: "failed", error: "gone" });
    const second = await rig.send("two", { sessionId: first.sessionId });
    const program = await rig.program(1, 2);
    program.end({ status: "failed", unread: true, error: "gone" });
    program.die();
    const next = await rig.program(2);
    expect(next.options.history.map(({ text }) => text)).toEqual(["one"]);
    expect(next.inputs.map(({ text }) => text)).toEqual(["two"]);
    next.end({ text: "answer" });
    expect(await second.done).toMatchObject({ status: "done", text: "answer" });
  });

  it("gives the agent its own session back only where it holds the conversation as it is", async () => {
    const rig = await sessionsRig();
    const first = await rig.send("one");
    (await rig.program(1)).end({ text: "answer" });
    await first.done;
    rig.programs[0]!.die();
    await until(() => rig.sessions.places().length === 0);
    const second = await rig.send("two", { sessionId: first.sessionId });
    const program = await rig.program(2);
    expect(program.options.resume).toBe("token-1");
    program.end({ status: "failed", error: "no" });
    await second.done;
    // After a failure nobody knows what the program remembers.
    expect((await rig.row(first.sessionId)).runtime_state).toBeNull();
  });

  it("takes no file from the agent but in a channel's turn, and none after its end", async () => {
    const rig = await sessionsRig();
    const file = { path: "/f", name: "f", mime: "text/plain" };
    const plain = await rig.send("one");
    await rig.program(1);
    const place = rig.sessions.places()[0]!;
    expect(place.scope.onFile).toBeUndefined();
    rig.programs[0]!.end();
    await plain.done;
    const endings: unknown[] = [];
    const turn = await rig.send("two", {
      sessionId: plain.sessionId,
      closing: (ending) => {
        endings.push(ending);
        expect(() => onFile(file)).toThrow("The turn has ended; the file was not sent.");
        return [];
      },
    });
    const program = await rig.program(1, 2);
    const onFile = place.scope.onFile!;
    onFile(file);
    program.emit({ type: "text", text: "Here" });
    program.end({ text: "Here" });
    const result = await turn.done;
    expect(result.files).toEqual([file]);
    expect(endings).toEqual([{ result, reason: undefined, produced: true }]);
    expect(place.scope.onFile).toBeUndefined();
  });
});

describe("a turn that is stopped", () => {
  it("ends with its text so far; the program has seven seconds to end it [TURN-7]", async () => {
    for (const obeys of [true, false]) {
      const rig = await sessionsRig();
      rig.state.obeys = obeys;
      const turn = await rig.send("Hello");
      const program = await rig.program(1);
      program.emit({ type: "text", text: "Half" });
      let over = false;
      const stopped = rig.sessions.stop(await rig.row(turn.sessionId)).then((was) => {
        over = true;
        return was;
      });
      await until(() => program.interrupts === 1);
      rig.clock.advance(6_999);
      await new Promise((resolve) => setImmediate(resolve));
      if (!obeys) expect([over, program.closed]).toEqual([false, false]);
      rig.clock.advance(1);
      expect(await stopped).toBe(true);
      expect(await turn.done).toMatchObject({ status: "interrupted", text: "Half" });
      expect(program.closed).toBe(!obeys);
      expect(rig.messages()[1]).toEqual(["assistant", "Half", { interrupted: true }]);
      expect(rig.log.text().includes("did not end its turn")).toBe(!obeys);
      expect(await rig.sessions.stop(await rig.row(turn.sessionId))).toBe(false);
    }
  });

  it("before its agent has started tells the agent nothing, and leaves no process", async () => {
    const rig = await sessionsRig();
    const { promise, resolve } = Promise.withResolvers<void>();
    rig.state.opening = promise;
    const turn = await rig.send("Hello");
    const stopping = turn.stop();
    resolve();
    await stopping;
    expect(await turn.done).toMatchObject({ status: "interrupted", text: "" });
    await rig.sessions.close();
    expect(rig.programs.map(({ inputs, closed }) => [inputs, closed])).toEqual(
      rig.programs.map(() => [[], true]),
    );
    expect(rig.messages()).toEqual([["user", "Hello", {}]]);
    expect(rig.log.text()).not.toContain("could not run the agent");
    expect(rig.used).toMatchObject([{ chars: { told: 0, said: 0 } }]);
  });

  it("by the hard cap is a timeout, and not a moment earlier [TURN-7]", async () => {
    const rig = await sessionsRig();
    const turn = await rig.send("Hello");
    const program = await rig.program(1);
    rig.clock.advance(10_999);
    expect(program.interrupts).toBe(0);
    rig.clock.advance(1);
    expect(await turn.done).toMatchObject({ status: "timeout" });
    expect(program.closed).toBe(false);
    expect(rig.counted.at(-1)).toBe("timeout");
    const events = [];
    for await (const event of turn.log.events({ seq: 0, textEnd: 0 })) events.push(event);
    expect(events).toMatchObject([{ type: "error", code: "TIMEOUT" }]);
  });

  it("because its model says nothing loses its process; activity counts as a sign of life", async () => {
    const rig = await sessionsRig();
    rig.agent.runtime.silentSeconds = 2;
    const turn = await rig.send("Hello");
    const program = await rig.program(1);
    for (let n = 0; n < 3; n++) {
      rig.clock.advance(1_500);
      program.emit({ type: "activity" });
    }
    program.emit({ type: "retry", attempt: 1, of: 2, message: "It is overloaded." });
    rig.clock.advance(1_999);
    expect(program.interrupts).toBe(0);
    rig.clock.advance(1);
    expect(await turn.done).toMatchObject({
      status: "timeout",
      error: "The model did not answer. It is overloaded.",
    });
    await until(() => program.closed);
    expect(rig.sessions.places()).toEqual([]);
  });

  it("by default after five minutes of silence; a turn's end ends the watch", async () => {
    const rig = await sessionsRig();
    const first = await rig.send("one", { softMs: 10 ** 7 });
    const program = await rig.program(1);
    rig.clock.advance(299_999);
    program.end({ text: "late" });
    expect(await first.done).toMatchObject({ status: "done" });
    rig.clock.advance(10_000);
    // The idle process and the kept turn: nothing else waits.
    expect(rig.clock.timers()).toBe(2);
    const second = await rig.send("two", { sessionId: first.sessionId, softMs: 10 ** 7 });
    await rig.program(1, 2);
    rig.clock.advance(300_000);
    expect(await second.done).toMatchObject({ status: "timeout" });
  });

  it("while it is being stored waits for that, and is done", async () => {
    const rig = await sessionsRig();
    const turn = await rig.send("Hello", {
      closing: () => {
        void turn.stop();
        return [];
      },
    });
    (await rig.program(1)).end({ text: "answer" });
    expect(await turn.done).toMatchObject({ status: "done", text: "answer" });
    expect(rig.programs[0]!.interrupts).toBe(0);
  });
});
