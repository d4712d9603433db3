import { expect, it } from "vitest";
import { createCommandRunner } from "../../../packages/gateway/src/sessions/run-command.ts";

/** Commands on a session that notes what is done with it. */
function rig({ latest = true, model = undefined as string | undefined } = {}) {
  const done: unknown[] = [];
  const row = { uuid: "s", model_override: "chosen", model: "answered" };
  const note =
    <T>(name: string, answer: T) =>
    (...args: unknown[]) => {
      done.push([name, ...args.map((arg) => (arg === row ? "row" : arg))]);
      return Promise.resolve(answer);
    };
  const run = createCommandRunner(
    {
      latest: note("latest", latest ? row : undefined),
      require: note("require", row),
      info: () => ({ sessionName: "Plans", messageCount: 4, contextPercent: 12, other: true }),
      clear: note("clear", undefined),
      compact: note("compact", { archivedMessages: 2, keptMessages: 1 }),
      stop: note("stop", true),
      restart: note("restart", undefined),
      setModel: note("setModel", undefined),
    } as never,
    {
      list: note("list", [{ alias: "m" }]),
      resolve: note("resolve", model),
      shown: note("shown", "shown"),
    } as never,
  );
  const agent = { id: "a" } as never;
  return {
    done,
    run: (name: string, { argument = "", sessionId = undefined as string | undefined } = {}) =>
      run(agent, "c", sessionId, { name, argument } as never, { keyId: "key" }),
  };
}
const agent = { id: "a" };

it.each([
  ["/session", { name: "Plans", messageCount: 4, contextPercent: 12 }, []],
  ["/clear", { cleared: true }, [["clear", "row"]]],
  ["/compact", { archivedMessages: 2, keptMessages: 1 }, [["compact", agent, "row", "key"]]],
  ["/stop", { stopped: true }, [["stop", "row"]]],
  ["/restart", { restarting: true }, [["restart", agent, "row", undefined]]],
  [
    "/model",
    { model: "shown", models: [{ alias: "m" }] },
    [
      ["list", agent],
      ["shown", agent, { chosen: "chosen", latest: "answered" }],
    ],
  ],
])("%s has its documented result, on the chat's latest session [CMD-2]", async (name, result, did) => {
  const { run, done } = rig();
  expect(await run(name)).toEqual({ command: name, session_id: "s", result });
  expect(done).toEqual([["latest", "a", "c"], ...did]);
});

it("a command on a session of the caller's choice looks for that one [CMD-2]", async () => {
  const { run, done } = rig();
  await run("/stop", { sessionId: "other" });
  expect(done[0]).toEqual(["require", "a", "c", "other"]);
});

it("a command in a chat without a session is refused [CMD-2]", async () => {
  await expect(rig({ latest: false }).run("/clear")).rejects.toMatchObject({
    code: "SESSION_NOT_FOUND",
    message: "This chat has no session yet.",
  });
});

it("/model with a model sets it for the session, and refuses one that does not exist [CMD-6]", async () => {
  const known = rig({ model: "large-1" });
  expect((await known.run("/model", { argument: "large" })).result).toEqual({ model: "large-1" });
  expect(known.done.slice(1)).toEqual([
    ["resolve", agent, "large"],
    ["setModel", "row", "large-1"],
  ]);
  const unknown = rig();
  await expect(unknown.run("/model", { argument: "none" })).rejects.toMatchObject({
    code: "INVALID_REQUEST",
    details: [{ path: "message", message: "names a model that does not exist" }],
  });
  expect(unknown.done).toHaveLength(2);
});
