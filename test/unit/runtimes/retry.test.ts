import { describe, expect, test } from "vitest";
import { readRetryHint } from "../../../packages/gateway/src/runtimes/acp/retry-hint.ts";
import { createRetryingFetch } from "../../../packages/gateway/src/runtimes/builtin/agent/retry.ts";
import {
  failureIn,
  retryEnvironment,
  upstreamFailure,
} from "../../../packages/gateway/src/runtimes/upstream.ts";

/** Asks a provider that answers with these, one after another; 0 is no answer at all. */
async function ask(answers: readonly number[], maxRetries: number, headers: Record<string, string> = {}) {
  const events: unknown[] = [];
  const pauses: number[] = [];
  const left = [...answers];
  const fetching = createRetryingFetch({
    maxRetries,
    emit: (event) => events.push(event),
    pause: async (ms) => void pauses.push(ms),
    fetch: async () => {
      const status = left.shift() ?? 200;
      if (status === 0) throw new TypeError("fetch failed");
      return new Response("{}", { status, headers });
    },
  });
  const outcome = await fetching("http://model/").then(
    (response) => response.status,
    (error: Error) => error.message,
  );
  return { outcome, events, pauses };
}

describe("model calls of the builtin runtime", () => {
  test("are repeated while that may help, each repeat told [RETRY-1, RETRY-3]", async () => {
    const { outcome, events, pauses } = await ask([429, 0, 200], 3);
    expect(outcome).toBe(200);
    expect(events).toEqual([
      {
        type: "retry",
        attempt: 1,
        of: 3,
        status: 429,
        message: "The model provider limits the rate of requests (429).",
      },
      { type: "retry", attempt: 2, of: 3, message: "The model provider could not be reached." },
    ]);
    expect(pauses).toHaveLength(2);
  });

  test("end with the last answer after as many repeats as allowed, within 15 s whatever the provider asks [RETRY-3]", async () => {
    for (const headers of [{}, { "retry-after": "600" }, { "retry-after": "soon" }]) {
      const { outcome, events, pauses } = await ask([500, 500, 500, 503], 3, headers);
      expect(outcome).toBe(503);
      expect(events).toHaveLength(3);
      expect(pauses.reduce((sum, ms) => sum + ms, 0)).toBeLessThan(14_000);
    }
    expect(await ask([0], 0)).toMatchObject({ outcome: "fetch failed", events: [] });
  });

  test("that cannot succeed are not repeated [RETRY-3]", async () => {
    for (const status of [400, 401, 403, 404, 413]) {
      expect(await ask([status], 3)).toMatchObject({ outcome: status, events: [] });
    }
  });

  test("stop at once with their turn", async () => {
    const stop = new AbortController();
    const fetching = createRetryingFetch({
      maxRetries: 3,
      emit: () => stop.abort(new Error("stopped")),
      fetch: async () => new Response("", { status: 500 }),
    });
    await expect(fetching("http://model/", { signal: stop.signal })).rejects.toThrow("stopped");
  });
});

describe("what agents say of their model", () => {
  test.each([
    ["Attempt 2 failed with status 429. Retrying with backoff...", { attempt: 2, status: 429 }],
    ["stream error: unexpected status 503; retrying 1/5 in 200ms", { attempt: 1, of: 5, status: 503 }],
    ["Reconnecting... 3/5", { attempt: 3, of: 5 }],
    ["retrying after rate limit", {}],
    ["ERROR service=llm status 401 unauthorized", { status: 401 }],
    ["one\ntwo\nHTTP error 529 overloaded", { status: 529 }],
  ])("%j is a hint [RETRY-5]", (text, hint) => {
    expect(readRetryHint(text)).toEqual(hint);
  });

  test.each(["", "listening on 127.0.0.1:5000", "read 429 files", "done in 500 ms", "error: no such file"])(
    "%j is none [RETRY-5]",
    (text) => {
      expect(readRetryHint(text)).toBeUndefined();
    },
  );

  test("takes time in proportion to nothing, however long a line is", () => {
    const started = performance.now();
    for (const text of ["retry ".repeat(50_000), " ".repeat(300_000), "error 5".repeat(50_000)])
      readRetryHint(text);
    expect(performance.now() - started).toBeLessThan(200);
  });

  test("names the status and what helps [RETRY-2]", () => {
    expect(failureIn('API Error: 401 {"type":"error"}')).toContain("(401)");
    expect(failureIn('[{"error":{"code": 429,"message":"x"}}]')).toContain("(429)");
    expect(failureIn("It took 500 ms")).toBeUndefined();
    expect(upstreamFailure(401)).toBe(
      "The model provider refused the key (401); check the agent's key or log in again.",
    );
    expect(upstreamFailure(400)).toBeUndefined();
    expect(upstreamFailure(undefined)).toBeUndefined();
  });

  test("is bounded by the environment, unless that or the configuration says otherwise [RETRY-3]", () => {
    const name = "CLAUDE_CODE_MAX_RETRIES";
    expect(retryEnvironment({}, undefined)).toEqual({ [name]: "3" });
    expect(retryEnvironment({ [name]: "7" }, undefined)).toEqual({ [name]: "7" });
    expect(retryEnvironment({ [name]: "7" }, 0)).toEqual({ [name]: "0" });
  });
});
