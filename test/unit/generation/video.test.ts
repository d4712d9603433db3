import { expect, it } from "vitest";
import { createGeneration } from "../../../packages/gateway/src/generation/index.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";

/** A service whose reads of a video's state go like this; the last one goes on. */
function makeRig(states: ReadonlyArray<object | "down">) {
  const clock = manualClock();
  const began = clock.elapsed();
  let reads = 0;
  const generation = createGeneration({
    clock,
    settings: () => ({ videos: { baseUrl: "https://service.example/v1", model: "m" } }),
    async fetch(_url, init) {
      if (init?.method === "POST") return Response.json({ id: "v", status: "queued" });
      const state = states[Math.min(reads++, states.length - 1)]!;
      if (state === "down") throw new TypeError("fetch failed");
      return Response.json({ id: "v", ...state });
    },
    keepImage: () => Promise.reject(new Error("not asked for")),
    async keepVideo() {
      return { path: "/v", url: "/v", name: "v", mime: "video/mp4", size: 1 };
    },
    link: async () => undefined,
  });
  const attached: string[] = [];
  /** What tools find of the turn that runs. */
  const turn = (name: string) => ({ onAttachment: () => void attached.push(name), takeShare: () => {} });
  const scope = { agentId: "a", ...turn("first") };
  const [tool] = generation.tools(scope);
  /** Lets time pass until the tool answers; the next turn begins when this many reads were made. */
  const run = async (nextTurnAfter = Number.POSITIVE_INFINITY) => {
    let next = false;
    let told: string | undefined;
    const done = tool!.call({ prompt: "x" }).then(
      (text) => (told = text),
      (error: Error) => (told = error.message),
    );
    for (let step = 0; told === undefined && step < 10_000; step++) {
      await new Promise((resolve) => setImmediate(resolve));
      if (!next && reads >= nextTurnAfter) {
        next = true;
        Object.assign(scope, turn("second"));
      }
      if (told === undefined) clock.advance(500);
    }
    await done;
    return { told, seconds: (clock.elapsed() - began) / 1000, reads, attached };
  };
  return { run };
}

it("a video is asked for until it is there, at most for ten minutes [GEN-4]", async () => {
  const working = { status: "in_progress" };
  const made = await makeRig([working, working, working, { status: "completed" }]).run();
  expect(made).toMatchObject({ told: "The video is attached to your reply.", reads: 4 });
  const never = await makeRig([working]).run();
  expect(never.told).toBe("The video was not ready after ten minutes.");
  expect(never.seconds).toBeGreaterThanOrEqual(600);
  expect(never.reads).toBeLessThan(130);
});

it("two reads that fail are got over, three in a row are not, and a failure is told [GEN-4] [GEN-6]", async () => {
  const done = { status: "completed" };
  expect((await makeRig(["down", "down", done]).run()).told).toBe("The video is attached to your reply.");
  expect((await makeRig(["down", "down", "down", done]).run()).told).toBe(
    "The service could not be reached.",
  );
  const failed = { status: "failed", error: { message: "not allowed" } };
  expect((await makeRig([failed]).run()).told).toBe("The video was not made: not allowed");
});

it("a video that is ready when the next turn of the session runs is not attached to that one's reply [GEN-4]", async () => {
  const states = [{ status: "in_progress" }, { status: "in_progress" }, { status: "completed" }];
  const late = await makeRig(states).run(1);
  expect(late).toMatchObject({ told: "The turn has ended; what was made is not attached.", attached: [] });
  expect((await makeRig(states).run()).attached).toEqual(["first"]);
});
