import { describe, expect, it } from "vitest";
import { createSilenceWatch } from "../../../packages/gateway/src/sessions/silence.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";

function watch(limitMs = 300_000) {
  const clock = manualClock();
  let silent = 0;
  const silence = createSilenceWatch(clock, limitMs, () => silent++);
  return { clock, silence, silent: () => silent };
}

describe("the silence limit", () => {
  it("counts from the last sign of the model, once [SILENT-1]", () => {
    const { clock, silence, silent } = watch();
    silence.begin();
    clock.advance(299_000);
    silence.heard({ type: "text", text: "x" });
    clock.advance(299_000);
    silence.heard({ type: "activity" });
    clock.advance(299_000);
    expect(silent()).toBe(0);
    clock.advance(1_000);
    expect(silent()).toBe(1);
    clock.advance(10_000_000);
    expect(silent()).toBe(1);
  });

  it("does not count while a tool runs, whatever it takes, and counts anew after it [SILENT-2]", () => {
    const { clock, silence, silent } = watch();
    silence.begin();
    silence.heard({ type: "tool_use", id: "t1", name: "Bash" });
    silence.heard({ type: "tool_use", id: "t2", name: "Bash" });
    clock.advance(3_600_000);
    silence.heard({ type: "tool_result", id: "t1", isError: false });
    clock.advance(3_600_000);
    silence.heard({ type: "tool_result", id: "t2", isError: false });
    clock.advance(299_000);
    expect(silent()).toBe(0);
    clock.advance(1_000);
    expect(silent()).toBe(1);
  });

  it("takes a tool whose result was never told for over when the model goes on [SILENT-2]", () => {
    const { clock, silence, silent } = watch();
    silence.begin();
    silence.heard({ type: "tool_use", id: "t1", name: "Bash" });
    silence.heard({ type: "text", text: "x" });
    clock.advance(300_000);
    expect(silent()).toBe(1);
  });

  it("is off with 0, before the agent is asked, and after the end [SILENT-1]", () => {
    const off = watch(0);
    off.silence.begin();
    off.clock.advance(10_000_000);
    expect(off.silent()).toBe(0);
    const ended = watch();
    ended.clock.advance(10_000_000);
    ended.silence.begin();
    ended.clock.advance(299_000);
    ended.silence.end();
    ended.clock.advance(10_000_000);
    expect(ended.silent()).toBe(0);
  });
});
