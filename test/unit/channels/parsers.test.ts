import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalId } from "../../../packages/gateway/src/channels/access/ids.ts";
import { parseUpdate } from "../../../packages/gateway/src/channels/botchat/parse.ts";
import { parseDelivery } from "../../../packages/gateway/src/channels/cloudchat/parse.ts";
import { bareJid } from "../../../packages/gateway/src/channels/devicechat/jid.ts";
import { parseMessage as parseDevice } from "../../../packages/gateway/src/channels/devicechat/parse.ts";
import { parseMessage as parseGuild } from "../../../packages/gateway/src/channels/guildchat/parse.ts";
import { isHelp, isUrgent } from "../../../packages/gateway/src/channels/intake/commands.ts";
import { channelPrompt } from "../../../packages/gateway/src/channels/intake/prompt.ts";
import { render, splitFor } from "../../../packages/gateway/src/channels/render/index.ts";
import { parseEvents } from "../../../packages/gateway/src/channels/sigchat/parse.ts";
import { blocksOf } from "../../../packages/gateway/src/channels/teamchat/blocks.ts";
import { parseEvent } from "../../../packages/gateway/src/channels/teamchat/parse.ts";
import { CHANNELS } from "../../../packages/gateway/src/channels/types.ts";
import { cpuMs, expectLinear, filled } from "../../fixtures/linear.ts";

/** Lengths of a first look; only what is slow there is measured with care. */
const SHORT = 50_000;
const LONG = 200_000;
/** Most that the event loop may be held up by the long text. */
const MOST_MS = 500;
/** CPU time below which a look at the long text is enough. */
const SUSPECT_MS = 60;

type Task = (text: string) => unknown;

async function expectQuick(task: Task, textOf: (size: number) => string, what: string): Promise<void> {
  const [tiny, long] = [textOf(4_000), textOf(LONG)];
  // Whatever is slow this early would hold up the run later.
  if ((await cpuMs(() => task(tiny))) > 200) return expectLinear(task, textOf, what);
  let ms = await cpuMs(() => task(long));
  if (ms > SUSPECT_MS && ms > 2 * (LONG / SHORT) * (await cpuMs(() => task(textOf(SHORT))))) {
    await expectLinear(task, textOf, what);
  }
  for (let again = 0; ms > MOST_MS && again < 3; again++) ms = Math.min(ms, await cpuMs(() => task(long)));
  expect(ms, `${what}: ${ms} ms for ${LONG} characters`).toBeLessThan(MOST_MS);
}

const telegram = (text: string, more: object = {}) =>
  parseUpdate(
    {
      update_id: 1,
      message: {
        message_id: 1,
        chat: { id: 5, type: "group", title: text },
        from: { id: 5, is_bot: false, first_name: text },
        reply_to_message: { message_id: 2, text },
        text,
        ...more,
      },
    },
    { id: 1, username: "bot" },
  );
/** As many entities as there are steps in the text. */
const entitiesOf = (text: string, entity: object, step: number) =>
  Array.from({ length: text.length / step }, (_, n) => ({ offset: n * step, length: 3, ...entity }));
const slack = (text: string, authorizations: object[], type = "message") =>
  parseEvent(
    {
      type: "event_callback",
      authorizations,
      event: { type, channel: "D1", user: "U2", ts: "1.1", text },
    },
    true,
  );

const PARSERS: Record<string, Task> = {
  "Telegram: text": (text) => telegram(text),
  "Telegram: mentions": (text) =>
    telegram(text, { entities: entitiesOf(text, { type: "text_mention", user: { id: 1 } }, 10) }),
  "Telegram: long entities": (text) =>
    telegram(text, { entities: entitiesOf(text, { type: "bot_command", length: text.length }, 10) }),
  "Telegram: entities of nobody yet": (text) =>
    parseUpdate(
      {
        update_id: 1,
        message: {
          chat: { id: -1 },
          from: { id: 5 },
          text,
          entities: entitiesOf(text, { type: "bot_command", length: text.length }, 10),
        },
      },
      { id: 1 },
    ),
  "Discord: message": (content) =>
    parseGuild(
      {
        id: "1",
        channel_id: "2",
        content,
        author: { id: "3", username: content },
        mentions: [{ id: "1", username: content }],
        attachments: [{ id: "1", url: "u", filename: content, content_type: content }],
      },
      { id: "9", roles: {} },
    ),
  "WhatsApp: message": (text) =>
    parseDevice(
      {
        key: { remoteJid: "1@s.whatsapp.net", id: "1", fromMe: false },
        message: { extendedTextMessage: { text, contextInfo: { mentionedJid: ["1@lid", text] } } },
        pushName: text,
      } as never,
      ["1@lid"],
    ),
  "WhatsApp: ids": (text) => [bareJid(`${text}@s.whatsapp.net`), canonicalId("devicechat", text)],
  "WhatsApp Cloud: message": (body) =>
    parseDelivery(
      {
        entry: [
          {
            changes: [
              {
                value: {
                  contacts: [{ wa_id: "49170", profile: { name: body } }],
                  messages: [{ from: "49170", id: "w", type: "text", text: { body } }],
                },
              },
            ],
          },
        ],
      },
      "1",
    ),
  "WhatsApp Cloud: messages": (text) => {
    const count = Math.floor(text.length / 20);
    const contacts = Array.from({ length: count }, (_, n) => ({ wa_id: `${n}`, profile: { name: "a" } }));
    const messages = contacts.map((_, n) => ({
      from: `${n + 1e6}`,
      id: "w",
      type: "text",
      text: { body: "b" },
    }));
    return parseDelivery({ entry: [{ changes: [{ value: { contacts, messages } }] }] }, undefined);
  },
  "LINE: events": (text) =>
    parseEvents(
      Buffer.from(
        JSON.stringify({
          events: [
            { type: "message", source: { type: "user", userId: "U1" }, message: { type: "text", text } },
          ],
        }),
      ),
    ),
  "Slack: message": (text) => slack(text, [{ user_id: "U1" }]),
  "Slack: mention": (text) => slack(text, [], "app_mention"),
  "Slack: authorizations": (text) => slack(text, entitiesOf(text, { user_id: "U1" }, 20)),
  "Slack: blocks": (text) => blocksOf(text, [{ label: text, command: text }]),
  commands: (text) => [isHelp(text), isUrgent(text)],
  "what the agent is told": (text) =>
    channelPrompt(
      { agentId: "a", channel: "botchat", account: "" },
      { eventId: "e", chatId: "c", kind: "dm", senderId: "u", senderName: text, text, mentioned: true },
      text,
      { name: text },
    ),
};

/** The dialects that escape most. What splits a text is the same for all; the smallest limit makes the most parts. */
const RENDERERS: Record<string, Task> = {
  "render for Telegram": (text) => render("botchat", text),
  "render for Discord": (text) => render("guildchat", text),
  "render for Slack": (text) => render("teamchat", text),
  "split for Discord": (text) => splitFor("guildchat", text),
};
const SPLITTERS: Record<string, Task> = Object.fromEntries(
  CHANNELS.map((channel) => [`split for ${channel}`, (text: string) => splitFor(channel, text)]),
);

type Text = [head: string, piece: string, tail: string];

const MESSAGES: Text[] = [
  ["", "@bot ", ""],
  ["a ", " @bot,", ""],
  ["", "a@", ""],
  ["/", "a", "@bot"],
  ["/a", "@a", ""],
  ["", " ", "x"],
  ["x", " \n", "x"],
  ["", "<@1>", ""],
  ["", "<@1> ", "x"],
  ["", "<@!1", ""],
  ["", "<@U1> ", ""],
  ["", "<@U1|", ""],
  ["<@U1|", "a", ""],
  ["<@U1>", " ", "x"],
  ["x", "\t", "<@U1>"],
  ["", "<!subteam^", ""],
  ["", "<http://a|", ">"],
  ["", "&lt;", ""],
  ["", "@1 ", "x"],
  ["", ":", "_"],
  ["", "\\", ""],
  ["", '"', ""],
  ["", "\0", ""],
  ["", "\n", "x"],
];

const ANSWERS: Text[] = [
  ["", "#http://", ""],
  ["", "http://a:80./", ""],
  ["", "http:///", "#"],
  ["http://", "é", ""],
  ["", "https://a. ", ""],
  ["", "<http://", ""],
  ["[", "*a* ", "](http://a)"],
  ["", "[a](http://a)", ""],
  ["", '[](a "', ""],
  ["", "[]((a)", ""],
  ["[a](http://", "a", ")"],
  ["", "*a ", ""],
  ["", "**a *b ", ""],
  ["", "_a_ ", ""],
  ["***a", "\nb", "***"],
  ["", "***a***b", ""],
  ["", "`a``b```c", ""],
  ["~~~\n", "`", ""],
  ["", "```\n", ""],
  ["", "- ", "a"],
  ["", "- a\n", ""],
  ["", "  - a\n    - b\n", ""],
  ["", "- ```\n", ""],
  ["", "> ", "a"],
  ["", ">\n", ""],
  ["", "> a\n>> b\n", ""],
  ["", ">>>>>> a\n", ""],
  ["# a", " ", "#x"],
  ["", "# a\n", ""],
  ["|a|b|\n|-|-|\n", "| c | d |\n", ""],
  ["|a|\n|-|\n", "|c|\n", ""],
  ["|a|b|\n|-|-|\n", "| * | [c](http://a) |\n", ""],
  [`|a|b|\n|-|-|\n${"|c|d|\n".repeat(1_000)}`, `|${"x y ".repeat(60)}|d|\n`, ""],
  ["", "a|b\n-|-\n", ""],
  ["", "|-|\n", ""],
  ["", "&lt;", ""],
  ["", "<br>", ""],
  ["", "\\*", ""],
  ["a", " ", "b"],
  ["a", "\u0301", ""],
  ["", "👩‍👩‍👧", ""],
  ["", "\u200ba", ""],
];

/** Texts of several pieces, each repeated over its share of the text. */
const NESTED: string[][] = [
  ["![", "a", "](http://a)"],
  ["![", "**a** ", "](http://a)"],
  ["![*a*", "](http://a)"],
  ["[*a*", "](http://a)"],
  ["[", "](http://a)"],
  ["[", "]"],
  ["**x", "\n", " ", "b", "*"],
  ["|a", "|\n", "-|", "|\n", "b|"],
  [">", "-", " ", "*a"],
];
const layered = (size: number, layers: readonly string[]) =>
  layers.map((piece) => filled(Math.floor(size / layers.length), piece)).join("");

const pieces = fc
  .array(
    fc.constantFrom(
      ..."# \t\n`~*_-+>|:[]()<!\\\"'.@&1a",
      ...[
        "](",
        "![",
        "](http://a)",
        "**",
        "\n> ",
        "\n- ",
        "https://",
        "\n|-|\n",
        "```\n",
        "<@U1",
        "é",
        "👩‍👧",
      ],
    ),
    { minLength: 1, maxLength: 6 },
  )
  .map((parts) => parts.join(""));

describe.each([
  ["parsers of the channels' messages", PARSERS, PARSERS, MESSAGES],
  ["writers of an agent's answer", RENDERERS, SPLITTERS, ANSWERS],
] as const)("%s", (_title, tasks, drawn, texts) => {
  it.each(Object.entries(tasks))(
    "%s: takes time in proportion to the text [FUZZ-1]",
    async (name, task) => {
      for (const [head, piece, tail] of texts) {
        const what = `${name} of ${JSON.stringify([head.slice(0, 20), piece, tail.slice(0, 20)])}`;
        await expectQuick(task, (size) => filled(size, piece, head, tail), what);
      }
      for (const layers of NESTED) {
        await expectQuick(task, (size) => layered(size, layers), `${name} of ${JSON.stringify(layers)}`);
      }
    },
    120_000,
  );

  it("take time in proportion to pieces put together by chance [FUZZ-1]", async () => {
    const task = fc.constantFrom(...Object.entries<Task>(drawn));
    await fc.assert(
      fc.asyncProperty(task, pieces, pieces, pieces, ([name, run], head, body, tail) =>
        expectQuick(
          run,
          (size) => filled(size, body, head, tail),
          `${name} of ${JSON.stringify([head, body, tail])}`,
        ),
      ),
      { seed: 20_260_601, numRuns: 40 },
    );
  }, 120_000);
});
