import { expect, it, vi } from "vitest";
import { newTurn } from "../../../packages/dashboard/src/state/live-turn.ts";

it("a broken stream is read on right after its last frame, and one that never began from its start", async () => {
  const asked: URL[] = [];
  vi.stubGlobal("location", { origin: "http://gateway" });
  vi.stubGlobal("fetch", async (input: string | URL) => {
    asked.push(new URL(input));
    return new Response("data: [DONE]\n\n", { headers: { "content-type": "text/event-stream" } });
  });
  try {
    const { resumeFrames } = await import("../../../packages/dashboard/src/state/follow.ts");
    const { signal } = new AbortController();
    const where = { agentId: "a", chatId: "me", sessionId: "s" };
    for (const cursor of [{ ...newTurn("s"), requestId: "r", seq: 7 }, newTurn("s"), undefined]) {
      await resumeFrames(where, signal, cursor)
        .next()
        .catch(() => {});
    }
  } finally {
    vi.unstubAllGlobals();
  }
  const at = asked.map(({ searchParams }) => [searchParams.get("request_id"), searchParams.get("after_seq")]);
  expect(at).toEqual([
    ["r", "7"],
    [null, null],
    [null, null],
  ]);
});
