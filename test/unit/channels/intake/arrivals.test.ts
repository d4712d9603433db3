import { describe, expect, it } from "vitest";
import { manualClock } from "../../../fixtures/manual-clock.ts";
import { memoryDatabase } from "../../../fixtures/memory-db.ts";
import { settled } from "../delivery/harness.ts";
import { PLACE, startIntake } from "./harness.ts";

describe("what comes in", () => {
  it("is counted when it arrives and when it is stored, and a repeated event is not stored [CH-FLOW-4]", async () => {
    const seen: string[] = [];
    const rig = startIntake({
      deps: {
        onInbound: () => seen.push("inbound"),
        onStored: () => seen.push("stored"),
        step: (label) => seen.push(label),
      },
    });
    await rig.say("one");
    const once = ["inbound", "before-inbox-row", "after-inbox-row", "stored"];
    expect(seen).toEqual(once);
    await rig.say("one");
    expect(seen).toEqual([...once, ...once.slice(0, 3)]);
    rig.state.decision = "ignore";
    await rig.say("two");
    expect(seen).toEqual([...once, ...once.slice(0, 3), "inbound"]);
    await rig.intake.receive(PLACE, []);
    expect(seen).toHaveLength(8);
    expect(rig.states()).toHaveLength(1);
  });

  it("for an agent that is not there is refused [CH-BETWEEN-10]", async () => {
    const rig = startIntake();
    rig.state.removed = true;
    await expect(rig.say("one")).rejects.toMatchObject({ code: "AGENT_NOT_FOUND" });
  });

  it("as a command is run once, however often it is looked for [CH-CMD-2]", async () => {
    const { promise, resolve } = Promise.withResolvers<Record<string, unknown>>();
    let runs = 0;
    const rig = startIntake({
      deps: {
        parseCommand: () => ({ name: "/stop", argument: "" }),
        runCommand() {
          runs++;
          return promise;
        },
      },
    });
    await rig.say("/stop");
    await settled();
    rig.intake.wakeAll();
    rig.intake.wakeAll();
    await settled();
    resolve({ stopped: true });
    await settled();
    expect(runs).toBe(1);
    expect(rig.out.texts()).toEqual(["Stopped."]);
    await rig.say("/stop again");
    await settled();
    expect(runs).toBe(2);
  });

  it("after a stop is stored, and nothing is begun [CH-CRASH-5]", async () => {
    const db = memoryDatabase();
    const clock = manualClock();
    const rig = startIntake({ db, clock });
    rig.intake.stop();
    await rig.say("one");
    await rig.say("/help");
    rig.intake.wakeAll();
    await settled();
    expect(rig.states()).toEqual(["waiting", "command"]);
    expect(rig.state.decided).toBe(2);
    const next = startIntake({ db, clock });
    await next.intake.recover("a");
    next.intake.wakeAll();
    await settled();
    expect(next.turns).toHaveLength(1);
  });
});
