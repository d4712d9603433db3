import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { startTeamchatRig } from "./fixtures/teamchat-rig.ts";
import { root, until } from "./harness.ts";

const preload = ["--import", join(root, "test/fixtures/kill-at.mjs")];
const INTERRUPTED = "interrupted";

/**
 * Where the gateway is killed while the turn of a chat message uses a tool, how often the tool then has run when all is
 * over, and what the chat gets.
 */
const KILLS = [
  { step: "after-spawn", acted: 1, reply: "Acted." },
  // The agent has asked for the tool and is not allowed it yet.
  { step: "agent-began", acted: 1, reply: "Acted." },
  { step: "after-began-row", acted: 0, reply: INTERRUPTED },
  { step: "first-delta", acted: 1, reply: INTERRUPTED },
  { step: "before-assistant-row", acted: 1, reply: INTERRUPTED },
  { step: "after-assistant-row", acted: 1, reply: "Acted." },
];

it("a tool of a chat message's turn never runs twice, wherever around it the gateway is killed [ACT-2]", async () => {
  await using rig = await startTeamchatRig();
  const file = (step: string) => join(rig.gateway.home, `${step}.txt`);
  for (const { step, acted, reply } of KILLS) {
    const before = rig.slack.posted.length;
    await rig.restart({ nodeArgs: preload, env: { KILL_AT: step } });
    const dead = new Promise<string | null>((resolve) =>
      rig.gateway.process.once("exit", (_, signal) => resolve(signal)),
    );
    await rig.say(`ACT ${file(step)}`);
    expect(await dead, step).toBe("SIGKILL");
    await rig.restart();
    await until(
      () =>
        rig.rows("SELECT 1 FROM channel_inbox WHERE settled_at IS NULL").length === 0 &&
        rig.rows("SELECT 1 FROM channel_outbox WHERE settled_at IS NULL").length === 0,
      `the reply after a kill at ${step}`,
      20_000,
    );
    const text = await readFile(file(step), "utf8").catch(() => "");
    expect({ step, acted: text.split("\n").length - 1 }).toEqual({ step, acted });
    const sent = rig.slack.texts().slice(before);
    expect(sent, step).toEqual([expect.stringContaining(reply)]);
  }
}, 90_000);
