import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseUpdate } from "../../../../packages/gateway/src/channels/botchat/parse.ts";
import { channelPrompt } from "../../../../packages/gateway/src/channels/intake/prompt.ts";
import type { InboundMessage } from "../../../../packages/gateway/src/channels/types.ts";

const place = { agentId: "assistant", channel: "botchat", account: "" } as const;
const message = (fields: Partial<InboundMessage>): InboundMessage => ({
  eventId: "1",
  chatId: "5",
  kind: "dm",
  senderId: "5",
  text: "hi",
  mentioned: true,
  ...fields,
});
const namesIn = (told: string) => Array.from(told.matchAll(/ ([A-Za-z0-9_]+)="/g), ([, name]) => name);

describe("what the agent is told of a message", () => {
  it("has each attribute once, and those of the gateway cannot be said otherwise [CH-FLOW-5]", () => {
    const meta = { sender: "somebody", "message-id": "7", message_id: "8", chat_title: "Team" };
    const told = channelPrompt(place, message({ messageId: "9", meta }), "hi", { image_path: "/a/b.png" });
    expect(told).toBe(
      '<channel_message channel="botchat" chat="5" sender="5" sender_name="5" chat_type="dm" message_id="9" ' +
        'chat_title="Team" image_path="/a/b.png">hi</channel_message>',
    );
    const update = { update_id: 1, message: { message_id: 2, chat: { id: 5 }, from: { id: 5 }, text: "hi" } };
    const parsed = parseUpdate(update, { id: 1 });
    const names = namesIn(channelPrompt(place, (parsed as { message: InboundMessage }).message, "hi", {}));
    expect(names).toEqual([...new Set(names)]);
  });

  it("is one element in one line of attributes, whatever a sender writes [CH-FLOW-5]", () => {
    const any = fc.string({ unit: "grapheme" });
    fc.assert(
      fc.property(any, any, any, (senderName, text, title) => {
        const told = channelPrompt(place, message({ senderName, meta: { title } }), text, {});
        expect(told).toMatch(/^<channel_message [^<>\n]*>[^<>]*<\/channel_message>$/);
        expect(namesIn(told.slice(0, told.indexOf(">")))).toContain("title");
      }),
    );
  });
});
