import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { type SessionsRig, said, sessionsRig, until } from "../../fixtures/sessions-rig.ts";

const folderOf = (rig: SessionsRig, id: string) => join(rig.folder, "a", "sessions", "api-c", id);

describe("a session", () => {
  it("is named by its name, its prompt, or its first message, and then no more [SES-2, SES-10]", async () => {
    const rig = await sessionsRig();
    const name = async (options: object) =>
      (await rig.sessions.create(rig.agent, "api-c", options)).sessionName;
    expect(await name({ name: " Plans ", prompt: "Hello" })).toBe("Plans");
    expect(await name({ name: "  ", prompt: "Hello" })).toBe("Hello");
    expect(await name({ prompt: "  " })).toBe("New session");
    const { sessionId, createdAt } = await rig.sessions.create(rig.agent, "api-c", { prompt: " " });
    expect(createdAt).toBe(rig.clock.now());
    expect(rig.told.at(-1)).toEqual({
      type: "session.created",
      agentId: "a",
      data: { chatId: "api-c", sessionId },
    });
    for (const text of ["First", "Second"]) {
      const turn = await rig.send(text, { sessionId });
      (await rig.program(1, text === "First" ? 1 : 2)).end();
      await turn.done;
    }
    expect(rig.sessions.info(await rig.row(sessionId))).toEqual({
      sessionId,
      sessionName: "First",
      messageCount: 2,
      contextPercent: 0,
      createdAt,
      lastActivity: expect.any(Number),
    });
    await rig.sessions.rename(await rig.row(sessionId), "Mine");
    expect((await rig.row(sessionId)).name).toBe("Mine");
  });

  it("keeps the name that a person gave it before its first message", async () => {
    const rig = await sessionsRig();
    const { sessionId } = await rig.sessions.create(rig.agent, "api-c", {});
    await rig.sessions.rename(await rig.row(sessionId), "Mine");
    const turn = await rig.send("First", { sessionId });
    (await rig.program(1)).end();
    await turn.done;
    expect((await rig.row(sessionId)).name).toBe("Mine");
  });

  it("that is removed loses its turn, process, folder and kept turns, and its chat's folder with the last [SES-5, HOLD-5]", async () => {
    const rig = await sessionsRig();
    const other = await said(rig, ["other", "1"]);
    const turn = await rig.send("Hello");
    await rig.program(2);
    const row = await rig.row(turn.sessionId);
    const folder = folderOf(rig, turn.sessionId);
    expect(existsSync(folder)).toBe(true);
    await Promise.all([rig.sessions.remove(row), rig.sessions.remove(row)]);
    expect((await turn.done).status).toBe("interrupted");
    expect([existsSync(folder), existsSync(dirname(folder))]).toEqual([false, true]);
    expect(await rig.row(turn.sessionId)).toBeUndefined();
    expect(rig.sessions.kept(turn.sessionId)).toEqual([]);
    expect(rig.programs[1]!.closed).toBe(true);
    const deleted = rig.told.filter(({ type }) => type === "session.deleted");
    expect(deleted).toEqual([
      { type: "session.deleted", agentId: "a", data: { chatId: "api-c", sessionId: turn.sessionId } },
    ]);
    await rig.sessions.remove(await rig.row(other));
    expect(existsSync(dirname(folder))).toBe(false);
    expect(rig.messages()).toEqual([]);
  });

  it("is cleared of all that was said and summarised, and its process knows nothing of it [SES-6]", async () => {
    const rig = await sessionsRig();
    const id = await said(rig, ["one", "1"]);
    await rig.store.commit(
      rig.store.sessions.update(id, { summary: "s", summary_upto: 1, context_percent: 50 }),
    );
    await rig.sessions.clear(await rig.row(id));
    expect(await rig.row(id)).toMatchObject({
      summary: null,
      summary_upto: 0,
      runtime_state: null,
      context_percent: 0,
      last_message: null,
    });
    expect([rig.programs[0]!.closed, rig.messages()]).toEqual([true, []]);
    const turn = await rig.send("two", { sessionId: id });
    expect((await rig.program(2)).options).toMatchObject({ history: [], resume: undefined });
    const running = await rig.row(id);
    await expect(rig.sessions.clear(running)).rejects.toMatchObject({ code: "SESSION_BUSY" });
    await expect(rig.sessions.compact(rig.agent, running, null)).rejects.toMatchObject({
      code: "SESSION_BUSY",
    });
    rig.programs[1]!.end();
    await turn.done;
  });

  it("that restarts has another process, which is told what was said; a turn is interrupted [SES-8]", async () => {
    const rig = await sessionsRig();
    const id = await said(rig, ["one", "1"]);
    const turn = await rig.send("two", { sessionId: id });
    await rig.program(1, 2);
    await rig.sessions.restart(rig.agent, await rig.row(id));
    expect((await turn.done).status).toBe("interrupted");
    await until(() => rig.programs.length === 2 && rig.sessions.places().every(({ busy }) => !busy));
    expect(rig.programs.map(({ closed }) => closed)).toEqual([true, false]);
    expect(rig.programs[1]!.options).toMatchObject({ resume: undefined });
    expect(rig.programs[1]!.options.history.map(({ text }) => text)).toEqual(["one", "1", "two"]);
    expect(rig.told.at(-1)).toEqual({
      type: "session.restarted",
      agentId: "a",
      data: { chatId: "api-c", sessionId: id },
    });
    // It is used by the next turn.
    const next = await rig.send("three", { sessionId: id });
    (await rig.program(2)).end();
    await next.done;
    expect(rig.programs).toHaveLength(2);
  });

  it("whose restart fails works again with its next message", async () => {
    const rig = await sessionsRig();
    const id = await said(rig, ["one", "1"]);
    rig.state.broken = new Error("no");
    await rig.sessions.restart(rig.agent, await rig.row(id));
    await until(() => rig.sessions.places().length === 0);
    expect(rig.log.text()).toContain("could not restart the session");
    rig.state.broken = undefined;
    const turn = await rig.send("two", { sessionId: id });
    (await rig.program(2)).end();
    expect((await turn.done).status).toBe("done");
  });

  it("has the model that was set for it from its next turn on", async () => {
    const rig = await sessionsRig();
    const id = await said(rig, ["one", "1"]);
    expect(rig.programs[0]!.options).toMatchObject({ model: undefined, contextWindow: undefined });
    await rig.sessions.setModel(await rig.row(id), "large");
    const turn = await rig.send("two", { sessionId: id });
    (await rig.program(1, 2)).end();
    await turn.done;
    expect(rig.programs[0]!.models).toEqual(["large"]);
    await rig.sessions.restart(rig.agent, await rig.row(id));
    await until(() => rig.programs.length === 2);
    expect(rig.programs[1]!.options).toMatchObject({ model: "large", contextWindow: 5 });
  });
});

describe("a compaction", () => {
  const TALK = Array.from({ length: 6 }, (_, n): [string, string] => [`q${n}`, `a${n}`]);

  it("leaves up to ten messages as they are [SES-7]", async () => {
    const rig = await sessionsRig();
    const id = await said(rig, ...TALK.slice(0, 5));
    expect(await rig.sessions.compact(rig.agent, await rig.row(id), null)).toEqual({
      success: true,
      keptMessages: 10,
      archivedMessages: 0,
    });
    expect(rig.programs[0]!.inputs).toHaveLength(5);
  });

  it("keeps the newest ten and a summary, from the program or asked of the agent, in a new process [SES-7]", async () => {
    for (const own of [true, false]) {
      const rig = await sessionsRig();
      const id = await said(rig, ...TALK);
      const usage = { models: [], cost: 1 };
      rig.state.compacted = own ? { summary: "What was said.", usage } : null;
      const compacting = rig.sessions.compact(rig.agent, await rig.row(id), "key");
      if (!own) {
        const program = await rig.program(1, 7);
        expect(program.inputs.at(-1)!.text).toMatch(/detailed summary/);
        await expect(rig.send("x", { sessionId: id })).rejects.toMatchObject({ code: "SESSION_BUSY" });
        program.emit({ type: "text", text: "What was said." });
        // After a crash, half a summary must not become a message.
        rig.clock.advance(1_000);
        await new Promise((resolve) => setImmediate(resolve));
        expect(rig.count("turn_parts")).toBe(0);
        program.end({ text: "What was said." });
      }
      expect(await compacting).toEqual({ success: true, keptMessages: 10, archivedMessages: 2 });
      expect(rig.used.at(-1)).toMatchObject({ keyId: "key", used: own ? usage : undefined });
      expect(await rig.row(id)).toMatchObject({
        summary: "What was said.",
        runtime_state: null,
        context_percent: 0,
        message_count: 12,
      });
      expect(rig.programs[0]!.closed).toBe(true);
      expect(rig.turns().at(-1)).toEqual({ kind: "compact", state: "done" });
      // It is no turn that a reader comes back to.
      expect(rig.sessions.kept(id)).toHaveLength(6);
      const turn = await rig.send("next", { sessionId: id });
      const next = await rig.program(2);
      expect(next.options.history.map(({ text }) => text)).toEqual([
        "Summary of our conversation so far:\nWhat was said.",
        "Understood.",
        ...TALK.slice(1).flat(),
      ]);
      next.end();
      await turn.done;
    }
  });

  it.each(["remove", "restart"] as const)(
    "is ended by whoever wants to %s the session [HOLD-6]",
    async (what) => {
      const rig = await sessionsRig();
      const id = await said(rig, ...TALK);
      const row = await rig.row(id);
      const compacting = rig.sessions.compact(rig.agent, row, null).catch(({ message }) => message);
      const program = await rig.program(1, 7);
      await (what === "remove" ? rig.sessions.remove(row) : rig.sessions.restart(rig.agent, row));
      expect(await compacting).toBe("The session was not compacted: it was stopped.");
      expect([program.interrupts, program.closed]).toEqual([1, true]);
      expect((await rig.row(id))?.summary).toBe(what === "remove" ? undefined : null);
    },
  );

  it.each([
    [{ text: "  " }, "the agent returned no summary."],
    [{ status: "interrupted", text: "Half" }, "it was stopped."],
    [{ status: "failed", text: "", error: "The agent is tired." }, "The agent is tired."],
  ] as const)("that ends with %j changes nothing and says why", async (outcome, why) => {
    const rig = await sessionsRig();
    const id = await said(rig, ...TALK);
    const compacting = rig.sessions.compact(rig.agent, await rig.row(id), null);
    (await rig.program(1, 7)).end(outcome);
    await expect(compacting).rejects.toMatchObject({
      code: "AGENT_FAILED",
      message: `The session was not compacted: ${why}`,
    });
    expect(await rig.row(id)).toMatchObject({ summary: null, summary_upto: 0 });
    expect(rig.messages()).toHaveLength(12);
    expect(rig.sessions.isBusy(id)).toBe(false);
  });
});
