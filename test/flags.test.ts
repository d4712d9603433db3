import { describe, expect, it } from "vitest";
import { buildArguments } from "../packages/gateway/src/runtimes/agent-cli/args.ts";
import { KEYS, startGateway } from "./harness.ts";

describe("what a request sets for an agent's program", () => {
  it("cannot be read as one of the program's flags [FLAG-1]", async () => {
    await using gateway = await startGateway();
    const agent = "/api/v1/agents/assistant";
    const refused = async (method: string, path: string, body: object) => {
      const answer = await gateway.json(method, path, { key: KEYS.admin, body });
      expect(answer, JSON.stringify(body)).toMatchObject({ status: 400, body: { code: "INVALID_REQUEST" } });
    };
    for (const model of ["-p", "--dangerously-skip-permissions", " --model=x"]) {
      await refused("PUT", `${agent}/model`, { model });
      await refused("PATCH", agent, { model });
      await refused("POST", "/api/v1/agents", { id: "flagged", model });
      await refused("POST", "/api/v1/agents", { id: "flagged", runtime: { type: "builtin", model } });
    }
    for (const tool of ["--yolo", " -y"]) await refused("PATCH", agent, { allow_tools: ["Read", tool] });
    const { session_id } = (await gateway.send("SAY x")).body;
    expect((await gateway.send("/model --yolo", { session_id })).status).toBe(400);
    const now = await gateway.json("GET", agent);
    expect(now.body.agent).toMatchObject({ model: null, allow_tools: true });
  });

  it("is an argument of its flag whatever an instructions file begins with [FLAG-1]", () => {
    const instructions = "--dangerously-skip-permissions";
    const options = { allowTools: true as const, instructions, tools: [] };
    const args = buildArguments(options, { type: "new", id: "i" }, undefined, new Set());
    expect(args).not.toContain(instructions);
    expect(args[args.indexOf("--append-system-prompt") + 1]?.trim()).toBe(instructions);
  });
});
