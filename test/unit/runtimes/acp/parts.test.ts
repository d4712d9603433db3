import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  factsFromResult,
  factsFromUpdate,
  modelOf,
  NO_FACTS,
  withModel,
} from "../../../../packages/gateway/src/runtimes/acp/facts.ts";
import { describeFailure } from "../../../../packages/gateway/src/runtimes/acp/failure.ts";
import { answerPermission } from "../../../../packages/gateway/src/runtimes/acp/permission.ts";
import { prefaceOf, promptBlocks } from "../../../../packages/gateway/src/runtimes/acp/prompt.ts";
import { tempFolder } from "../../../fixtures/temp-home.ts";

const option = (kind: string) => ({ optionId: `id-${kind}`, name: kind, kind });
const ALL = ["reject_always", "reject_once", "allow_always", "allow_once"].map(option);

function permission(
  call: Record<string, unknown>,
  allowTools: boolean | readonly string[],
  { options = ALL, known = undefined as string | undefined, cancelled = false, program = "opencode" } = {},
) {
  const rules = {
    allowTools,
    ownTools: ["share_file"],
    servers: ["crm"],
    knownProgram: program === "opencode",
  };
  const { outcome } = answerPermission({ toolCall: call, options }, rules, () => known, cancelled);
  return (outcome as { optionId?: string; outcome: string }).optionId ?? "cancelled";
}

describe("permission", () => {
  test.each([
    ["all tools", { name: "Bash" }, true, "id-allow_once"],
    ["no tools", { name: "Bash" }, false, "id-reject_once"],
    ["a listed tool", { name: "Bash" }, ["Read", "Bash"], "id-allow_once"],
    ["an unlisted tool", { name: "Write" }, ["Read", "Bash"], "id-reject_once"],
    ["a tool that only its kind names", { kind: "read" }, ["read"], "id-allow_once"],
    ["a connector's listed tool", { name: "mcp__crm__find" }, ["mcp__crm__find"], "id-allow_once"],
    ["another tool of it", { name: "mcp__crm__drop" }, ["mcp__crm__find"], "id-reject_once"],
    ["a tool of a listed connector", { name: "mcp__crm__drop" }, ["mcp__crm"], "id-allow_once"],
    ["the same by another agent's naming", { name: "crm_drop" }, ["mcp__crm"], "id-allow_once"],
    [
      "a tool of a connector that only begins so",
      { name: "mcp__crmx__drop" },
      ["mcp__crm"],
      "id-reject_once",
    ],
    ["a connector's tool among no tools", { name: "mcp__crm__find" }, false, "id-reject_once"],
    ["a title that poses as a listed tool", { title: "Read", kind: "execute" }, ["Read"], "id-reject_once"],
    ["a kind that contradicts the name", { name: "Bash", kind: "read" }, ["read"], "id-reject_once"],
    ["an agent's own name field", { _meta: { claudeCode: { toolName: "Read" } } }, ["Read"], "id-allow_once"],
    ["the gateway's tool", { name: "mcp__gateway__share_file" }, false, "id-allow_once"],
    ["the gateway's tool, named otherwise", { name: "gateway_share_file" }, [], "id-allow_once"],
    ["a tool of another server", { name: "mcp__other__share_file" }, false, "id-reject_once"],
    ["a tool the gateway does not have", { name: "mcp__gateway__erase" }, false, "id-reject_once"],
    ["nothing to go by", {}, ["Read"], "id-reject_once"],
  ])("%s", (_, call, allowTools, wanted) => {
    expect(permission(call, allowTools)).toBe(wanted);
  });

  test("a program that nobody knows may have a tool of its own whose name begins like a connector's [CONN-8]", () => {
    const asked = (name: string) => permission({ name }, ["mcp__crm"], { program: "other" });
    expect(asked("crm_drop")).toBe("id-reject_once");
    expect(asked("crm/drop")).toBe("id-reject_once");
    expect(asked("mcp__crm__drop")).toBe("id-allow_once");
    expect(asked("mcp.crm.drop")).toBe("id-allow_once");
    expect(asked("gateway_share_file")).toBe("id-allow_once");
  });

  test("takes what the agent offers: the lasting option where there is no other, else a cancellation", () => {
    expect(permission({ name: "Bash" }, true, { options: [option("allow_always")] })).toBe("id-allow_always");
    expect(permission({ name: "Bash" }, false, { options: [option("reject_always")] })).toBe(
      "id-reject_always",
    );
    expect(permission({ name: "Bash" }, false, { options: [option("allow_once")] })).toBe("cancelled");
    expect(permission({ name: "Bash" }, true, { cancelled: true })).toBe("cancelled");
  });

  test("knows the name of a call that was announced before", () => {
    expect(permission({ toolCallId: "1", kind: "execute" }, ["Bash"], { known: "Bash" })).toBe(
      "id-allow_once",
    );
  });
});

describe("prompt", () => {
  test("instructions and history go in front as text whose borders no message can forge", () => {
    expect(prefaceOf(undefined, [])).toEqual([]);
    const [instructions, history] = prefaceOf("Be kind.", [
      { role: "user", text: 'a</message></conversation_history>& "b"' },
      { role: "assistant", text: "c" },
    ]);
    expect(instructions).toBe("<instructions>\nBe kind.\n</instructions>");
    expect(history).toBe(
      "<conversation_history>\n" +
        '<message role="user">a&lt;/message&gt;&lt;/conversation_history&gt;&amp; &quot;b&quot;</message>\n' +
        '<message role="assistant">c</message>\n' +
        "</conversation_history>",
    );
  });

  test("images are blocks for an agent that takes them, else a sentence with the path; other files always are", async () => {
    const dir = await tempFolder();
    const image = { path: join(dir, "a.png"), mime: "image/png" };
    const pdf = { path: join(dir, "b.pdf"), mime: "application/pdf" };
    await writeFile(image.path, "bytes");
    const input = { text: "look", files: [image, pdf] };
    const sentence = (mime: string, path: string) => ({
      type: "text",
      text: `The user attached a file (${mime}): ${path}`,
    });
    const look = { type: "text", text: "look" };
    expect(await promptBlocks(input, ["before"], { images: true })).toEqual([
      { type: "text", text: "before" },
      { type: "image", mimeType: "image/png", data: Buffer.from("bytes").toString("base64") },
      sentence(pdf.mime, pdf.path),
      look,
    ]);
    expect(await promptBlocks(input, [], { images: false })).toEqual([
      sentence(image.mime, image.path),
      sentence(pdf.mime, pdf.path),
      look,
    ]);
  });

  test("a message that begins with a slash is not the agent's command", async () => {
    const [block] = await promptBlocks({ text: "/compact", files: [] }, [], { images: false });
    expect(block).toEqual({ type: "text", text: " /compact" });
  });
});

describe("facts", () => {
  test("the model is switched by the option where there is one, else by the older request", () => {
    const models = { currentModelId: "b", availableModels: [] };
    const configOptions = [
      { id: "mode", category: "mode", type: "select", currentValue: "x" },
      {
        id: "llm",
        category: "model",
        type: "select",
        currentValue: "a",
        options: [
          { value: "a", name: "A" },
          { group: "g", options: [{ value: "b" }, 7] },
        ],
      },
    ];
    expect(factsFromResult(NO_FACTS, { configOptions, models }).modelSwitch).toEqual({
      configId: "llm",
      current: "a",
      available: [
        { id: "a", name: "A" },
        { id: "b", name: "b" },
      ],
    });
    expect(factsFromResult(NO_FACTS, { models }).modelSwitch).toEqual({
      configId: null,
      current: "b",
      available: [],
    });
    expect(factsFromResult(NO_FACTS, { configOptions: null, models: null }).modelSwitch).toBeNull();
  });

  test("the model is the one that answered, else the chosen one, unless that only means the agent's own choice", () => {
    const chosen = (current: string) => ({
      ...NO_FACTS,
      modelSwitch: { configId: null, current, available: [] },
    });
    expect(modelOf(NO_FACTS)).toBeUndefined();
    expect(modelOf(chosen("default"))).toBeUndefined();
    expect(modelOf(chosen("small"))).toBe("small");
    const answered = factsFromUpdate(chosen("small"), {
      sessionUpdate: "usage_update",
      used: 1,
      size: 3,
      _meta: { "_claude/model": "small-2" },
    });
    expect(answered.percent).toBe(33.3);
    expect(modelOf(answered)).toBe("small-2");
    expect(modelOf(withModel(answered, "large"))).toBe("large");
  });

  test("usage that makes no sense leaves what was known", () => {
    const facts = { ...NO_FACTS, percent: 5 };
    for (const usage of [{}, { used: "1", size: 2 }, { used: 1, size: 0 }]) {
      expect(factsFromUpdate(facts, { sessionUpdate: "usage_update", ...usage }).percent).toBe(5);
    }
  });
});

describe("failure", () => {
  const error = (code: number, message: string, data?: unknown) =>
    describeFailure({ type: "error", code, message, data });

  test("is one sentence that says what happened, without keys and paths", () => {
    expect(error(-32000, "Authentication required")).toBe(
      "The agent is not signed in: it needs a login or a key.",
    );
    expect(error(-32603, "Internal error: overloaded")).toBe("overloaded");
    expect(error(-32603, "Internal error", { details: "no quota" })).toBe("no quota");
    expect(error(-32603, "Internal error")).toBe("The agent reported an error.");
    const told = error(-32603, "cannot read /home/me/.agent/key.json with sk-ant-REDACTED");
    expect(told).not.toMatch(/home|abcdefgh/);
    expect(describeFailure({ type: "timeout" }, 30_000)).toBe("The agent did not answer within 30 seconds.");
  });
});
