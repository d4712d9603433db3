import { routes } from "@agent-gateway/contract";
import { describe, expect, it } from "vitest";
import { createThrottle } from "../../../packages/gateway/src/auth/throttle.ts";
import { watchTrouble } from "../../../packages/gateway/src/channels/intake/trouble.ts";
import { supervise } from "../../../packages/gateway/src/channels/supervisor.ts";
import { endpoint, json } from "../../../packages/gateway/src/http/index.ts";
import { createRateLimiter } from "../../../packages/gateway/src/http/rate-limit.ts";
import { silentLogger } from "../../../packages/gateway/src/lib/logger.ts";
import { createKeeper } from "../../../packages/gateway/src/sessions/kept-turns.ts";
import { createSilenceWatch } from "../../../packages/gateway/src/sessions/silence.ts";
import type { Turn } from "../../../packages/gateway/src/sessions/turn-types.ts";
import { dial } from "../../fixtures/dial.ts";
import { httpConfig, startTestServer } from "../../fixtures/http-server.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";
import { until } from "../../harness.ts";

const HOURS = 3_600_000;

describe.each([
  ["back", -6 * HOURS],
  ["on", 6 * HOURS],
])("a clock that is set %s by hours", (_, jump) => {
  it("keeps no address locked out for longer than a minute, nor for less [CLOCK-1]", () => {
    const clock = manualClock();
    const throttle = createThrottle(clock);
    for (let n = 0; n < 20; n++) throttle.failed("10.0.0.1");
    clock.jump(jump);
    clock.advance(30_000);
    expect(throttle.wait("10.0.0.1")).toBe(30);
    clock.advance(30_000);
    expect(throttle.wait("10.0.0.1")).toBe(0);
  });

  it("neither fills nor stops a key's allowance [CLOCK-1]", () => {
    const clock = manualClock();
    const config = httpConfig({ api: { rateLimit: { perSecond: 1, burst: 2 } } });
    const takeToken = createRateLimiter(() => config, clock);
    const route = { decl: routes.listAgents } as never;
    const take = () => {
      try {
        takeToken(route, "key");
        return true;
      } catch {
        return false;
      }
    };
    expect([take(), take(), take()]).toEqual([true, true, false]);
    clock.jump(jump);
    expect(take()).toBe(false);
    clock.advance(1_000);
    expect([take(), take()]).toEqual([true, false]);
  });

  it("cuts off a reader that has stalled for a minute, and no other [CLOCK-1]", async () => {
    const clock = manualClock();
    const large = endpoint(routes.listAgents, () =>
      json({ agents: [{ id: "x".repeat(32 * 1024 * 1024) }] as never }),
    );
    await using server = await startTestServer({ clock, endpoints: [large] });
    const peer = await dial(server.port);
    peer.socket.pause();
    peer.socket.write("GET /api/v1/agents HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Api-Key: the-admin-key\r\n\r\n");
    await until(() => server.server.connections().waiting > 0, "the reply to be held up");
    clock.advance(15_000);
    clock.jump(jump);
    clock.advance(30_000);
    expect(server.server.connections().open).toBe(1);
    clock.advance(60_000);
    await until(() => server.server.connections().open === 0, "the connection to be cut");
  });

  it("ends a silent turn when its time is over, and no other [CLOCK-1]", () => {
    const clock = manualClock();
    let silent = 0;
    const watch = createSilenceWatch(clock, 300_000, () => silent++);
    watch.begin();
    clock.advance(200_000);
    clock.jump(jump);
    watch.heard({ type: "text", text: "still here" });
    clock.advance(200_000);
    expect(silent).toBe(0);
    clock.jump(jump);
    clock.advance(100_000);
    expect(silent).toBe(1);
  });

  it("tells a chat about trouble after ten seconds [CLOCK-1]", () => {
    const clock = manualClock();
    const told: string[] = [];
    watchTrouble(
      clock,
      () => "Busy.",
      (line) => told.push(line),
    );
    clock.advance(5_000);
    clock.jump(jump);
    clock.advance(3_000);
    expect(told).toEqual([]);
    clock.advance(4_000);
    expect(told).toHaveLength(1);
  });

  it("keeps a finished turn for its two minutes [CLOCK-1]", () => {
    const clock = manualClock();
    const kept = new Map<string, Turn[]>();
    const config = () => httpConfig();
    const keep = createKeeper({ clock, config } as never, kept);
    keep({ sessionId: "s", log: { bytes: 10 } } as Turn);
    clock.jump(jump);
    clock.advance(100_000);
    expect(kept.has("s")).toBe(true);
    clock.advance(25_000);
    expect(kept.has("s")).toBe(false);
  });

  it("ends a connection that has been silent too long, and no other [CLOCK-1]", async () => {
    const clock = manualClock();
    let ended = 0;
    const adapter = {
      aliveWithinMs: 60_000,
      connect(connection: { signal: AbortSignal; alive(): void }) {
        connection.alive();
        return new Promise<void>((resolve) => {
          connection.signal.addEventListener("abort", () => {
            ended++;
            resolve();
          });
        });
      },
    };
    const state = { connected: false, lastAliveAt: null, lastError: null, until: null, attempts: 0 };
    const stop = supervise({
      adapter,
      clock,
      log: silentLogger,
      state,
      onReconnect() {},
      receive: async () => {},
      position: () => undefined,
      savePosition: async () => {},
    } as never);
    clock.advance(30_000);
    clock.jump(jump);
    clock.advance(25_000);
    expect(ended).toBe(0);
    clock.advance(15_000);
    expect(ended).toBe(1);
    await stop();
  });
});
