import { spawn } from "node:child_process";
import { once } from "node:events";
import { type Metric, Registry } from "prom-client";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Config } from "../../../packages/gateway/src/config/index.ts";
import { systemClock } from "../../../packages/gateway/src/lib/clock.ts";
import {
  createCounter,
  createHistogram,
  type Family,
} from "../../../packages/gateway/src/monitoring/families.ts";
import {
  type ChannelReport,
  createMonitoring,
  type LivePlace,
} from "../../../packages/gateway/src/monitoring/index.ts";
import {
  listProcesses,
  parseStat,
  withDescendants,
} from "../../../packages/gateway/src/monitoring/processes.ts";

/** As a scrape shows it. */
function textOf(family: Family): Promise<string> {
  const register = new Registry();
  register.registerMetric(family as unknown as Metric);
  return register.metrics();
}
const place = (extra: Partial<LivePlace>): LivePlace => ({
  agentId: "a",
  chatId: "api-me",
  sessionId: "s1",
  busy: false,
  lastActivity: 5,
  spawnedAt: 4,
  runtime: { pid: 77, model: "m" },
  ...extra,
});
let now = 1000;
const make = (places: LivePlace[] = [], channels: ChannelReport[] = []) => {
  now = 1000;
  return createMonitoring({
    config: { current: { agents: [{ id: "a" }, { id: "b" }] } as unknown as Config },
    clock: { ...systemClock, now: () => now, elapsed: () => now },
    version: "1.2.3",
    incidentOf: (id) => (id === "s1" ? { id: "i1", stage: "no_output" } : null),
    places: () => places,
    dbUnits: () => 7,
    store: { health: () => ({ driver: "sqlite", ok: true, latencyMs: 0.5 }), walBytes: async () => 4096 },
    connections: () => 3,
    diskFree: () => 5_000,
    channels: () => channels,
    runtime: async (id) => ({
      type: "starter",
      program: null,
      version: null,
      login: "not-needed",
      problem: id === "b" ? "It cannot start." : null,
      warnings: [],
      lastError: id === "b" ? { message: "It cannot start.", at: 7 } : null,
    }),
  });
};

describe("/status", () => {
  it("names every agent with its live sessions and what it counted since the start [MON-4]", async () => {
    const monitoring = make([
      place({ chatId: "botchat-9", busy: true }),
      place({ sessionId: "s2", runtime: undefined, spawnedAt: null }),
      place({ sessionId: "spare", chatId: "" }),
    ]);
    monitoring.turns.received("a");
    monitoring.turns.received("a");
    monitoring.turns.sent("a");
    now += 500;
    expect(await monitoring.status()).toEqual({
      status: "ok",
      version: "1.2.3",
      startedAt: 1000,
      uptime: 500,
      store: { driver: "sqlite", ok: true, latencyMs: 0.5 },
      agents: [
        {
          id: "a",
          isRunning: true,
          runtime: "starter",
          problem: null,
          lastError: null,
          sessions: [
            {
              chatId: "botchat-9",
              sessionId: "s1",
              source: "botchat",
              busy: true,
              pid: 77,
              model: "m",
              spawnedAt: 4,
              lastActivity: 5,
              backend: "headless",
              incident: { id: "i1", stage: "no_output" },
            },
            {
              chatId: "api-me",
              sessionId: "s2",
              source: "api",
              busy: false,
              pid: null,
              model: null,
              spawnedAt: null,
              lastActivity: 5,
              backend: "headless",
              incident: null,
            },
          ],
          messagesReceived: 2,
          messagesSent: 1,
          channels: {},
        },
        {
          id: "b",
          isRunning: false,
          runtime: "starter",
          problem: "It cannot start.",
          lastError: { message: "It cannot start.", at: 7 },
          sessions: [],
          messagesReceived: 0,
          messagesSent: 0,
          channels: {},
        },
      ],
    });
  });
});

describe("channels", () => {
  const report = (extra: Partial<ChannelReport>): ChannelReport => ({
    agentId: "a",
    channel: "botchat",
    account: "",
    connected: true,
    lastInboundAt: 4000,
    lastOutboundAt: null,
    lastError: null,
    queued: 2,
    unknown: 1,
    ...extra,
  });
  const reports = [
    report({}),
    report({ channel: "devicechat", account: "default", lastError: "gone", lastInboundAt: null }),
    report({ channel: "devicechat", account: "shop", connected: false, lastOutboundAt: 9 }),
  ];

  it("are in /status with their state, the accounts of one channel together [CH-HEALTH-3]", async () => {
    const { agents } = await make([], reports).status();
    expect(agents.map(({ channels }) => channels)).toEqual([
      {
        botchat: {
          enabled: true,
          connected: true,
          lastInboundAt: 4000,
          lastOutboundAt: null,
          lastError: null,
          queued: 2,
          unknown: 1,
        },
        devicechat: {
          enabled: true,
          connected: true,
          lastInboundAt: 4000,
          lastOutboundAt: 9,
          lastError: "gone",
          queued: 4,
          unknown: 2,
        },
      },
      {},
    ]);
  });

  it("are in /metrics by agent, channel and account [CH-HEALTH-4]", async () => {
    const monitoring = make([], reports);
    monitoring.channels.received(reports[0]!);
    monitoring.channels.received(reports[0]!);
    monitoring.channels.denied(reports[0]!);
    monitoring.channels.delivered(reports[0]!, "unknown");
    monitoring.channels.reconnected(reports[2]!);
    const lines = (await monitoring.metrics()).split("\n");
    const bot = 'agent="a",channel="botchat",account=""';
    const shop = 'agent="a",channel="devicechat",account="shop"';
    for (const line of [
      `agent_gateway_channel_connected{${bot}} 1`,
      `agent_gateway_channel_connected{${shop}} 0`,
      `agent_gateway_channel_queue{${bot}} 2`,
      `agent_gateway_channel_last_inbound_timestamp_seconds{${bot}} 4`,
      `agent_gateway_channel_messages_received_total{${bot}} 2`,
      `agent_gateway_channel_messages_denied_total{${bot}} 1`,
      `agent_gateway_channel_deliveries_total{${bot},state="unknown"} 1`,
      `agent_gateway_channel_reconnects_total{${shop}} 1`,
    ]) {
      expect(lines).toContain(line);
    }
  });
});

describe("/metrics", () => {
  it("renders what was counted, the live sessions, and the process's own metrics [MON-4]", async () => {
    const monitoring = make([place({}), place({ busy: true }), place({ busy: true }), place({ chatId: "" })]);
    monitoring.turns.ended("a", "done", 700);
    monitoring.onRequest("GET", "/health", 200, 0.4);
    monitoring.onReader(1);
    monitoring.onReader(1);
    monitoring.onReader(-1);
    const text = await monitoring.metrics();
    for (const line of [
      'agent_gateway_info{version="1.2.3"} 1',
      'agent_gateway_turns_total{agent="a",status="done"} 1',
      'agent_gateway_turn_duration_seconds_bucket{agent="a",le="0.5"} 0',
      'agent_gateway_turn_duration_seconds_bucket{agent="a",le="1"} 1',
      'agent_gateway_turn_duration_seconds_bucket{agent="a",le="+Inf"} 1',
      'agent_gateway_turn_duration_seconds_sum{agent="a"} 0.7',
      'agent_gateway_http_requests_total{method="GET",route="/health",status="200"} 1',
      'agent_gateway_live_sessions{agent="a",state="busy"} 2',
      'agent_gateway_live_sessions{agent="a",state="idle"} 1',
      'agent_gateway_live_sessions{agent="a",state="spare"} 1',
      "agent_gateway_sse_readers 1",
      "agent_gateway_db_units_total 7",
    ]) {
      expect(text.split("\n")).toContain(line);
    }
    expect(text).toMatch(/^process_resident_memory_bytes \d+/m);
    for (const line of text.split("\n").filter((line) => line !== "")) {
      expect(line).toMatch(
        /^(?:# (?:HELP|TYPE) |[a-z_:][a-z0-9_:]*(?:\{[^}]*\})? (?:[-+0-9.eE]+|NaN|\+Inf)$)/i,
      );
    }
    expect(await monitoring.metrics()).toContain("process_cpu");
  });

  it("escapes what a label holds", async () => {
    const counter = createCounter("c", "help", ["x"]);
    counter.add(2, 'a"b\\c\nd');
    expect(await textOf(counter)).toContain('c{x="a\\"b\\\\c\\nd"} 2\n');
  });

  it("counts into the bucket that a value falls at or below", async () => {
    const histogram = createHistogram("h", "help", [], [1, 2]);
    for (const value of [1, 2, 3]) histogram.observe(value);
    expect(await textOf(histogram)).toBe(
      '# HELP h help\n# TYPE h histogram\nh_bucket{le="1"} 1\nh_bucket{le="2"} 2\nh_bucket{le="+Inf"} 3\nh_sum 6\nh_count 3\n',
    );
  });
});

describe("/processes", () => {
  const children: Array<ReturnType<typeof spawn>> = [];
  afterEach(async () => {
    for (const child of children.splice(0)) {
      child.kill("SIGKILL");
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    }
  });

  it("lists the gateway and its descendants, without their arguments [MON-4]", async () => {
    const secret = "s3cr3t-argument";
    const script = `require("child_process").spawn(process.execPath, ["-e", "setInterval(()=>{},1e6)", "${secret}"]); setInterval(()=>{},1e6)`;
    const child = spawn(process.execPath, ["-e", script, secret], { stdio: "ignore", detached: true });
    children.push(child);
    const list = await vi.waitFor(async () => {
      const { processes, numCpus } = await listProcesses();
      expect(numCpus).toBeGreaterThan(0);
      const grandchild = processes.find(({ ppid }) => ppid === child.pid);
      expect(grandchild).toBeDefined();
      return { processes, grandchild: grandchild! };
    }, 10_000);
    process.kill(list.grandchild.pid, "SIGKILL");
    expect(list.processes[0]).toMatchObject({ pid: process.pid, ppid: process.ppid });
    expect(list.processes.find(({ pid }) => pid === child.pid)).toMatchObject({ ppid: process.pid });
    expect(list.processes.map(({ pid }) => pid)).not.toContain(process.ppid);
    expect(JSON.stringify(list.processes)).not.toContain(secret);
    for (const { cpu, rssKb, command } of list.processes) {
      expect(cpu).toBeGreaterThanOrEqual(0);
      expect(rssKb).toBeGreaterThan(0);
      expect(command).not.toBe("");
    }
  });

  it("reads names with spaces and parentheses, and survives a process that ends meanwhile", () => {
    const fields = ["S", "12", ...new Array(9).fill("0"), "30", "40", "0", "0", "0", "0", "0", "0", "999"];
    expect(parseStat(`55 (a) (b c)) ${fields.join(" ")}`)).toEqual({
      pid: 55,
      name: "a) (b c)",
      ppid: 12,
      ticks: 70,
      startTicks: 999,
    });
    expect(parseStat("")).toBeNull();
  });

  it("follows parents level by level and survives a circle", () => {
    const entry = (pid: number, ppid: number) => ({ pid, ppid });
    const all = [entry(1, 0), entry(2, 1), entry(3, 2), entry(4, 1), entry(9, 8), entry(8, 9)];
    expect(withDescendants(all, 1).map(({ pid }) => pid)).toEqual([1, 2, 4, 3]);
    expect(withDescendants(all, 8).map(({ pid }) => pid)).toEqual([8, 9]);
    expect(withDescendants(all, 77)).toEqual([]);
  });
});
