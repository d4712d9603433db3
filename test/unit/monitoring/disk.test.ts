import { describe, expect, it } from "vitest";
import { createDisk } from "../../../packages/gateway/src/monitoring/index.ts";
import { startTestServer } from "../../fixtures/http-server.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";
import { recordingLogger } from "../../fixtures/temp-home.ts";

const settle = () => new Promise((resolve) => setImmediate(resolve));

/** A disk whose answers the test gives. */
function rig(minFree = 1_000) {
  const clock = manualClock();
  const log = recordingLogger();
  const waiting: PromiseWithResolvers<number>[] = [];
  const look = () => {
    const answer = Promise.withResolvers<number>();
    waiting.push(answer);
    return answer.promise;
  };
  const disk = createDisk({ home: "/home", minFree: () => minFree, clock, log, look });
  const answer = async (bytes: number) => {
    waiting.shift()?.resolve(bytes);
    await settle();
  };
  const fail = async () => {
    waiting.shift()?.reject(new Error("no such call"));
    await settle();
  };
  return { clock, log, disk, answer, fail };
}

describe("the disk", () => {
  it("takes what is new until the floor, between the looks too [SPACE-2]", async () => {
    const { clock, disk, answer, log } = rig();
    expect(disk.state()).toBe("ok");
    expect(() => disk.take(5_000)).not.toThrow();
    await answer(1_500);
    expect(() => disk.take(400)).not.toThrow();
    expect(() => disk.take(400)).toThrow(expect.objectContaining({ code: "UNAVAILABLE", status: 503 }));
    expect(disk.state()).toBe("low");
    clock.advance(5_000);
    await answer(2_000);
    expect([disk.state(), disk.free()]).toEqual(["ok", 2_000]);
    expect(log.text().match(/nearly full/g)).toHaveLength(1);
    expect(log.text()).toContain("has space again");
  });

  it("is stuck when a look has not completed for 10 s, and well again when it does [HEALTH-1]", async () => {
    const { clock, disk, answer } = rig();
    clock.advance(9_999);
    expect(disk.state()).toBe("ok");
    clock.advance(1);
    expect(disk.state()).toBe("stuck");
    clock.advance(60_000);
    expect(disk.state()).toBe("stuck");
    await answer(5_000);
    expect(disk.state()).toBe("ok");
    clock.advance(5_000);
    await answer(500);
    expect(disk.state()).toBe("low");
  });

  it("that cannot be measured keeps nothing away", async () => {
    const { disk, fail } = rig();
    await fail();
    expect(disk.state()).toBe("ok");
    expect(() => disk.take(1)).not.toThrow();
  });

  it("shows in /health: 200 with disk low, 503 unhealthy when file access hangs [HEALTH-1, SPACE-2]", async () => {
    let state: "ok" | "low" | "stuck" = "ok";
    await using server = await startTestServer({ disk: () => state });
    const health = async () => {
      const { status, body } = await server.ask("GET", "/health");
      return { status, body };
    };
    expect(await health()).toEqual({ status: 200, body: { status: "ok" } });
    state = "low";
    expect(await health()).toEqual({ status: 200, body: { status: "ok", disk: "low" } });
    state = "stuck";
    expect(await health()).toEqual({
      status: 503,
      body: {
        status: "unhealthy",
        code: "UNAVAILABLE",
        error: expect.any(String),
        request_id: expect.any(String),
      },
    });
  });
});
