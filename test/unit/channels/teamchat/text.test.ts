import { expect, it } from "vitest";
import { readable } from "../../../../packages/gateway/src/channels/teamchat/text.ts";

it("leaves the bot's mentions out with the blanks around them [CH-LINEAR-1]", () => {
  for (const [text, shown] of [
    ["<@U1> do it", "do it"],
    ["do <@U1|bot>, it", "do it"],
    ["do \t<@U1>: \t it", "do it"],
    ["<@U1><@U1>  <@U1>", ""],
    ["<@U2> and <@U1", "@U2 and <@U1"],
    ["<@U1|a <@U1>b", "<@U1|a b"],
    ["a <@U12> b", "a @U12 b"],
  ] as const) {
    expect(readable(text, ["U1"])).toBe(shown);
  }
});

it("takes no longer for a text of blanks than for any other [CH-LINEAR-1]", () => {
  for (const piece of [" ", "\t", "<@U1|", " <@U1", "<@U1> ", "<"]) {
    const began = performance.now();
    readable(piece.repeat(200_000 / piece.length), ["U1", "U3"]);
    // The square of it would be minutes.
    expect(performance.now() - began).toBeLessThan(2_000);
  }
});
