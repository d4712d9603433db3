import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { alive, type Gateway, root, startGateway, until } from "./harness.ts";

const STEPS = [
  "before-user-row",
  "after-user-row",
  "after-spawn",
  "first-delta",
  "before-assistant-row",
  "after-assistant-row",
  "before-done",
];
const ROUNDS = Number(process.env.CRASH_ROUNDS ?? 200);
const preload = ["--import", join(root, "test/fixtures/kill-at.mjs")];

interface Counted {
  lost: number;
  doubled: number;
  stuck: number;
  orphans: number;
}

/** Messages sent with an answer of 200, and those of which the fate is unknown. */
interface Sent {
  acknowledged: Set<string>;
  uncertain: Set<string>;
}

async function everything(
  gateway: Gateway,
  session: string,
): Promise<Array<{ role: string; content: string; interrupted?: true }>> {
  const all = [];
  let query = "";
  for (;;) {
    const path = `/api/v1/agents/assistant/chats/api-crash/messages?order=asc&limit=1000&session_id=${session}${query}`;
    const { body } = await gateway.json("GET", path);
    all.push(...(body.messages as Array<{ role: string; content: string }>));
    if (!body.hasMore) return all;
    query = `&after=${body.nextCursor}&after_id=${body.nextCursorId}`;
  }
}

describe("kill -9 at every step of a turn", () => {
  it(`${ROUNDS} rounds: nothing acknowledged is lost or doubled, no session stuck, no orphan [TURN-21, TURN-22, SES-15]`, async () => {
    const counted: Counted = { lost: 0, doubled: 0, stuck: 0, orphans: 0 };
    const sent: Sent = { acknowledged: new Set(), uncertain: new Set() };
    const pids = new Set<number>();
    let gateway = await startGateway();
    const { body } = await gateway.json("POST", "/api/v1/agents/assistant/sessions", {
      body: { chat_id: "crash" },
    });
    const session = body.sessionId as string;
    const say = async (text: string) => {
      try {
        const reply = await gateway.send(text, { chat_id: "crash", session_id: session });
        if (reply.status === 200) sent.acknowledged.add(text);
        return reply;
      } catch {
        sent.uncertain.add(text);
        return undefined;
      }
    };
    try {
      for (let round = 0; round < ROUNDS; round++) {
        const step = STEPS[round % STEPS.length]!;
        await gateway.kill();
        gateway = await startGateway({
          home: gateway.home,
          nodeArgs: preload,
          env: { KILL_AT: step, KILL_TURN: String(1 + (Math.floor(round / STEPS.length) % 2)) },
        });
        const first = await say(`round ${round} a`);
        if (first && first.status !== 200) counted.stuck++;
        const { body: status } = await gateway.json("GET", "/status").catch(() => ({ body: { agents: [] } }));
        for (const agent of (status.agents ?? []) as Array<{ sessions: Array<{ pid: number | null }> }>) {
          for (const { pid } of agent.sessions) if (pid) pids.add(pid);
        }
        if (first) await say(`round ${round} b`);
      }
      await gateway.kill();
      gateway = await startGateway({ home: gateway.home });
      if ((await say("the end"))?.status !== 200) counted.stuck++;
      const messages = await everything(gateway, session);
      for (const text of [...sent.acknowledged, ...sent.uncertain]) {
        const asked = messages.filter(
          (message) => message.role === "user" && message.content === text,
        ).length;
        const answered = messages.filter(
          (message) =>
            message.role === "assistant" && message.content.endsWith(`: ${text}`) && !message.interrupted,
        ).length;
        if (sent.acknowledged.has(text) && (asked < 1 || answered < 1)) counted.lost++;
        if (asked > 1 || answered > 1) counted.doubled++;
      }
      expect(sent.uncertain.size).toBeGreaterThan(ROUNDS / 2);
      const { body: last } = await gateway.json("GET", "/status");
      const live = new Set(
        (last.agents as Array<{ sessions: Array<{ pid: number | null }> }>).flatMap((agent) =>
          agent.sessions.map(({ pid }) => pid),
        ),
      );
      const left = () => [...pids].filter((pid) => !live.has(pid) && alive(pid));
      await until(() => left().length === 0, "orphans to be gone", 5000).catch(() => {});
      counted.orphans = left().length;
      expect(counted).toEqual({ lost: 0, doubled: 0, stuck: 0, orphans: 0 });
    } finally {
      await gateway[Symbol.asyncDispose]();
    }
  }, 600_000);
});
