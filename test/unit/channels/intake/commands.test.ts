import { GatewayError } from "@agent-gateway/contract";
import { describe, expect, it } from "vitest";
import {
  describeResult,
  helpText,
  isCli,
  isHelp,
  isUrgent,
  refusalText,
} from "../../../../packages/gateway/src/channels/intake/commands.ts";
import { COMMANDS, parseCommand } from "../../../../packages/gateway/src/sessions/commands.ts";
import { settled } from "../delivery/harness.ts";
import { startIntake } from "./harness.ts";

describe("what a command says in a chat", () => {
  it.each([
    [
      "/session",
      { name: "Plans", messageCount: 4, contextPercent: 12 },
      "Session: Plans\nMessages: 4\nContext in use: 12 %",
    ],
    ["/clear", {}, "This conversation was cleared."],
    ["/compact", { archivedMessages: 0, keptMessages: 3 }, "There is nothing to compact yet."],
    ["/compact", { archivedMessages: 7, keptMessages: 3 }, "Compacted: 7 messages summarised, 3 kept."],
    ["/stop", { stopped: true }, "Stopped."],
    ["/stop", { stopped: false }, "Nothing is running."],
    ["/restart", {}, "The agent is restarting."],
    ["/model", { model: "large" }, "This session now uses large."],
    ["/model", { model: "large", models: [] }, "Model of this session: large.\nChange it with /model <id>."],
    ["/model", { models: [] }, "This session uses the agent's own model.\nChange it with /model <id>."],
    ["/later", {}, "Done."],
  ])("%s %j: %j [CH-CMD-1]", (command, result, text) => {
    expect(describeResult(command, result)).toEqual({ text });
  });

  it("lists the models, and has a button for each of the first ten [CH-CMD-3]", () => {
    const models = Array.from({ length: 12 }, (_, n) => ({ alias: `m${n}`, name: `Model ${n}` }));
    const { text, buttons } = describeResult("/model", { model: "m1", models });
    const lines = text.split("\n");
    expect(lines.slice(0, 3)).toEqual(["Model of this session: m1.", "", "/model m0 - Model 0"]);
    expect(lines).toHaveLength(14);
    expect(buttons).toHaveLength(10);
    expect(buttons![9]).toEqual({ label: "Model 9", command: "/model m9" });
  });

  it("explains a refusal, and keeps the gateway's own failures to itself [CH-CMD-1]", () => {
    expect(refusalText(new GatewayError("SESSION_BUSY", "A turn is running."))).toBe("A turn is running.");
    expect(refusalText(new GatewayError("INTERNAL", "No disk."))).toBeUndefined();
    expect(refusalText(new Error("No disk."))).toBeUndefined();
  });
});

describe("a message that is a command", () => {
  it.each(["/stop", " /stop now", "/STOP", "/session", "/restart", "/model x", "/help", "/start", "/stop\n"])(
    "waits for no earlier one: %j [CH-CMD-2]",
    (text) => expect(isUrgent(text)).toBe(true),
  );
  it.each(["/clear", "/compact", "/stopping", "please /stop", "stop", "/helpful", ""])(
    "or none of those waits its turn: %j [CH-CMD-2]",
    (text) => expect(isUrgent(text)).toBe(false),
  );
  it.each([
    ["/help", true],
    [" /start token", true],
    ["/Help", true],
    ["/helpful", false],
    ["I need /help", false],
    ["/stop", false],
  ])("asks for help: %j is %j [CH-CMD-1]", (text, help) => expect(isHelp(text)).toBe(help));

  it("is run once, and its result goes out as a notice [CH-CMD-1]", async () => {
    const ran: unknown[] = [];
    const rig = startIntake({
      deps: {
        parseCommand,
        async runCommand(agent, chatId, command) {
          ran.push([agent.id, chatId, command]);
          return { archivedMessages: 2, keptMessages: 1 };
        },
      },
    });
    await rig.say("/compact the plans");
    await settled();
    expect(ran).toEqual([["a", "sigchat-c", { name: "/compact", argument: "the plans" }]]);
    expect(rig.out.texts()).toEqual(["Compacted: 2 messages summarised, 1 kept."]);
    expect(rig.out.rows("purpose")).toEqual([{ purpose: "notice" }]);
    expect(rig.notes()).toEqual(["done /compact"]);
    expect(rig.turns).toEqual([]);
  });

  it("that is unknown or refused is answered with the reason, and the agent is not asked [CH-CMD-1]", async () => {
    const rig = startIntake({
      deps: {
        parseCommand,
        runCommand: () => Promise.reject(new GatewayError("SESSION_BUSY", "A turn is running.")),
      },
    });
    await rig.say("/dance");
    await settled();
    await rig.say("/clear");
    await settled();
    expect(rig.out.texts()).toEqual([
      expect.stringContaining("There is no command /dance; the commands are /session"),
      "A turn is running.",
    ]);
    expect(rig.notes()).toEqual(["done refused command", "done refused command"]);
    expect(rig.turns).toEqual([]);
  });

  it("/cli is answered at once where the agent has a terminal, and is unknown elsewhere [PAIR-1]", async () => {
    expect([isUrgent("/cli approve ABC234"), isCli(" /CLI"), isCli("/client")]).toEqual([true, true, false]);
    const asked: unknown[] = [];
    const webApp = { label: "Open the terminal", url: "https://gw.example/gateway/cli/1" };
    const rig = startIntake({
      deps: {
        parseCommand,
        async cli(agent, place, message) {
          asked.push([agent.id, place.channel, message.senderId, message.text]);
          return message.text === "/cli" ? { text: "Here.", webApp } : undefined;
        },
      },
    });
    await rig.say("/cli");
    await settled();
    await rig.say("/cli approve");
    await settled();
    expect(asked).toEqual([
      ["a", "sigchat", expect.any(String), "/cli"],
      ["a", "sigchat", expect.any(String), "/cli approve"],
    ]);
    expect(rig.out.sent[0]!.content).toEqual({ kind: "text", text: "Here.", webApp });
    expect(rig.out.texts()[1]).toMatch(/There is no command \/cli/);
    expect(rig.turns).toEqual([]);
  });

  it("for help lists every command [CH-CMD-1]", async () => {
    const cli = { name: "/cli", description: "Open the terminal." };
    const ownCommands = async (agent: { id: string }) => (agent.id === "a" ? [cli] : []);
    const rig = startIntake({ deps: { parseCommand, commands: COMMANDS, ownCommands } });
    await rig.say("/start");
    await settled();
    expect(rig.out.texts()).toEqual([helpText([...COMMANDS, cli])]);
    const lines = helpText(COMMANDS).split("\n");
    expect(lines[0]).toBe("Send a message to talk to the agent. Commands:");
    expect(lines.slice(2)).toHaveLength(COMMANDS.length);
    expect(lines).toContain("/stop - Interrupt the running turn.");
    expect(rig.notes()).toEqual(["done help"]);
  });

  it("has its buttons below the last part of a long answer [CH-CMD-3]", async () => {
    const models = [{ alias: "m", name: "Model" }];
    const rig = startIntake({
      deps: {
        parseCommand,
        runCommand: async () => ({ model: "m", models }),
        split: (_channel, text) => text.split("\n\n"),
      },
    });
    await rig.say("/model");
    await settled();
    const buttons = [{ label: "Model", command: "/model m" }];
    expect(rig.out.sent.map(({ content }) => content)).toEqual([
      { kind: "text", text: "Model of this session: m." },
      { kind: "text", text: "/model m - Model", buttons },
    ]);
  });

  it("comes between the messages that are joined, and joins none [CH-FLOW-6]", async () => {
    const rig = startIntake({ coalesceMs: 300, deps: { parseCommand } });
    for (const text of ["one", "two", "/clear", "three"]) await rig.say(text);
    await settled();
    rig.clock.advance(300);
    await settled();
    expect(rig.turns.map(({ text }) => text)).toEqual(["one\ntwo"]);
    await rig.turns[0]!.end();
    await settled();
    expect(rig.out.texts()).toEqual(["one\ntwo", "This conversation was cleared."]);
    rig.clock.advance(300);
    await settled();
    expect(rig.turns.map(({ text }) => text)).toEqual(["one\ntwo", "three"]);
  });
});
