import { describe, expect, it } from "vitest";
import type { AgentConfig } from "../../../packages/gateway/src/config/index.ts";
import { createAgentModels, type OwnModels } from "../../../packages/gateway/src/models/index.ts";

const AGENT = { id: "a", model: "configured" } as AgentConfig;
const OFFERED: OwnModels = {
  current: "fake/small",
  available: [
    { id: "fake/small", name: "Fake/Small" },
    { id: "fake/large", name: "Large model" },
    { id: "$runtime|x|named(x)", name: "named" },
    { id: "other/large", name: "Other/Large" },
  ],
};

const open = (offered: OwnModels | null | undefined) =>
  createAgentModels({
    models: {
      list: async () => [],
      resolve: async (wanted) => `gateway-${wanted}`,
      contextWindow: () => undefined,
    },
    own: async () => offered,
  });

describe("the models of an agent whose program has its own [MODEL-7]", () => {
  it("are listed with a short name where it is the only one", async () => {
    const list = await open(OFFERED).list(AGENT);
    expect(list.map(({ id, alias }) => [id, alias])).toEqual([
      ["fake/small", "small"],
      ["fake/large", "fake/large"],
      ["$runtime|x|named(x)", "named"],
      ["other/large", "other/large"],
    ]);
  });

  it.each([
    ["fake/large", "fake/large"],
    ["FAKE/LARGE", "fake/large"],
    [" small ", "fake/small"],
    ["large model", "fake/large"],
    ["named", "$runtime|x|named(x)"],
    ["large", undefined],
    ["gpt-5", undefined],
  ])("%j stands for %j", async (wanted, id) => {
    expect(await open(OFFERED).resolve(AGENT, wanted)).toBe(id);
  });

  it("an unknown one is refused; without a known list so is each", async () => {
    const refused = { code: "INVALID_REQUEST" };
    await expect(open(OFFERED).require(AGENT, "nope")).rejects.toMatchObject(refused);
    await expect(open(null).require(AGENT, "small")).rejects.toMatchObject(refused);
    expect(await open(null).list(AGENT)).toEqual([]);
  });

  it("what is shown is what runs: the choice where the agent offers it, else what answered last", async () => {
    const { shown } = open(OFFERED);
    expect(await shown(AGENT, { chosen: "fake/large", latest: "x" })).toBe("fake/large");
    expect(await shown(AGENT, { chosen: null, latest: "fake/small-2" })).toBe("fake/small-2");
    expect(await shown(AGENT, { chosen: "gone", latest: null })).toBe("fake/small");
    expect(await open(null).shown(AGENT, { chosen: null, latest: "x" })).toBe("configured");
  });
});

it("an agent without models of its own takes the gateway's", async () => {
  const models = open(undefined);
  expect(await models.require(AGENT, "sonnet")).toBe("gateway-sonnet");
  expect(await models.shown(AGENT, { chosen: null, latest: "x" })).toBe("configured");
});
