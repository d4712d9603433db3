import { mkdir, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { tempFolder } from "../../../fixtures/temp-home.ts";
import { runTurn } from "../open-options.ts";
import { openFake as open } from "./open-fake.ts";

describe("gateway tools", () => {
  const calls: unknown[] = [];
  const tools = [
    {
      name: "share_file",
      description: "Shares a file.",
      inputSchema: { type: "object", properties: { path: { type: "string" } } },
      call: async (args: Record<string, unknown>) => {
        calls.push(args);
        if (args.path === "secret") throw new Error("That file may not be shared.");
        return `shared ${args.path}`;
      },
    },
  ];

  test("are offered by a tool server that the agent starts, which comes back to the gateway", async () => {
    const session = await open({}, { tools });
    expect((await runTurn(session, "TOOLS")).outcome.text).toBe("share_file");
    const shared = await runTurn(session, 'CALL share_file {"path":"a.png"}');
    expect(JSON.parse(shared.outcome.text)).toEqual({ content: [{ type: "text", text: "shared a.png" }] });
    expect(calls).toEqual([{ path: "a.png" }]);
    const refused = await runTurn(session, 'CALL share_file {"path":"secret"}');
    expect(JSON.parse(refused.outcome.text)).toEqual({
      content: [{ type: "text", text: "That file may not be shared." }],
      isError: true,
    });
  });

  test.each([
    ["in the session's folder", ""],
    ["in a short one when that is too deep", "deep/".repeat(20)],
  ])("come over a socket %s, which goes with the process", async (_, deeper) => {
    const root = await tempFolder();
    const sessionDir = join(root, deeper);
    await mkdir(sessionDir, { recursive: true });
    const sockets = async () =>
      (await readdir(deeper === "" ? sessionDir : tmpdir())).filter((name) =>
        name.startsWith(`agent-gateway-tools-${process.pid}-`),
      );
    const session = await open({}, { tools, sessionDir });
    expect(await sockets()).toHaveLength(1);
    expect((await runTurn(session, "TOOLS")).outcome.text).toBe("share_file");
    await session.close();
    expect(await sockets()).toEqual([]);
  });
});
