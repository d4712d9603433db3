import type { Model } from "@agent-gateway/contract";
import { describe, expect, it } from "vitest";
import {
  compareModelNames,
  newestByFamily,
  parseModelName,
  withFamilyAliases,
} from "../../../packages/gateway/src/models/aliases.ts";

const model = (id: string, alias = id): Model => ({ id, name: id, alias, contextWindow: 1, multiplier: 1 });

describe("a model id", () => {
  it.each([
    ["claude-sonnet-5", "claude-sonnet", [5], Number.POSITIVE_INFINITY],
    ["claude-sonnet-4-5-20250929", "claude-sonnet", [4, 5], 20_250_929],
    ["claude-3-5-sonnet-latest", "claude-sonnet", [3, 5], Number.POSITIVE_INFINITY],
    ["anthropic/claude-opus-4.1", "claude-opus", [4, 1], Number.POSITIVE_INFINITY],
    ["gpt-4o-mini-2024-07-18", "gpt-4o-mini", [], 20_240_718],
    ["gpt-4-0613", "gpt", [4], 613],
    ["llama3", "llama3", [], Number.POSITIVE_INFINITY],
  ])("%s has the family %s", (id, family, version, date) => {
    expect(parseModelName(id)).toEqual({ family, version, date });
  });

  it("is newer by version, then by date; without a date it follows the newest", () => {
    const order = [
      "claude-sonnet-3-7",
      "claude-sonnet-4-20250514",
      "claude-sonnet-4",
      "claude-sonnet-4-5",
      "claude-sonnet-10",
    ];
    const sorted = [...order]
      .reverse()
      .sort((a, b) => compareModelNames(parseModelName(a), parseModelName(b)));
    expect(sorted).toEqual(order);
  });
});

describe("a bare family alias", () => {
  it("points at the newest model of the family; older members keep versioned aliases [MODEL-5]", () => {
    const models = withFamilyAliases([
      model("claude-sonnet-4-5", "sonnet"),
      model("claude-sonnet-5"),
      model("claude-opus-4-1", "opus"),
      model("mine", "fast"),
    ]);
    expect(models.map(({ id, alias }) => [id, alias])).toEqual([
      ["claude-sonnet-4-5", "sonnet-4.5"],
      ["claude-sonnet-5", "sonnet"],
      ["claude-opus-4-1", "opus"],
      ["mine", "fast"],
    ]);
  });

  it("is understood in both lengths, unless two families share it", () => {
    const newest = newestByFamily([
      model("claude-haiku-4-5"),
      model("claude-haiku-3"),
      model("alpha-pro-1"),
      model("beta-pro-2"),
    ]);
    expect(newest.get("haiku")?.id).toBe("claude-haiku-4-5");
    expect(newest.get("claude-haiku")?.id).toBe("claude-haiku-4-5");
    expect(newest.get("pro")).toBeUndefined();
    expect(newest.get("beta-pro")?.id).toBe("beta-pro-2");
  });
});
