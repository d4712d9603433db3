import { routeList, type routes } from "@agent-gateway/contract";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { ago } from "../../../packages/gateway/src/cli/ask.ts";
import {
  type CliRoute,
  type Command,
  chooseRoute,
  cliRoutes,
  commands,
  fieldsOf,
  fieldsOfCommand,
  flagNames,
  flagsOf,
} from "../../../packages/gateway/src/cli/fields.ts";
import { GLOBAL_FLAGS, kebab, parseFlags, takeWords } from "../../../packages/gateway/src/cli/flags.ts";
import { commandUsage } from "../../../packages/gateway/src/cli/help.ts";
import { render, table } from "../../../packages/gateway/src/cli/output.ts";
import { buildRequest } from "../../../packages/gateway/src/cli/request.ts";

const routeOf = (name: keyof typeof routes): CliRoute =>
  routeList.find((route) => route.name === name) as CliRoute;
const build = (name: keyof typeof routes, ...tokens: string[]) => {
  const route = routeOf(name);
  return buildRequest(route, parseFlags(tokens, flagsOf(route)));
};

describe("flags", () => {
  it("reads values, negations, repetitions and what follows --", () => {
    const { values, positionals } = parseFlags(
      ["a", "--url=x=y", "--no-json", "--key", "-5", "--key", "k", "--", "--z"],
      GLOBAL_FLAGS,
    );
    expect(positionals).toEqual(["a", "--z"]);
    expect(Object.fromEntries(values)).toEqual({ url: ["x=y"], json: ["false"], key: ["-5", "k"] });
    expect(parseFlags(["-", "-60"], GLOBAL_FLAGS).positionals).toEqual(["-", "-60"]);
  });

  it("finds the command's words among flags that every command takes", () => {
    expect(takeWords(["--url", "u", "agents", "--json", "list", "x"], 2)).toEqual({
      words: ["agents", "list"],
      rest: ["--url", "u", "--json", "x"],
    });
  });

  it("two fields of a route never share a flag, and none takes a global one", () => {
    for (const route of cliRoutes) {
      const fields = fieldsOf(route);
      const names = fields.map(({ name }) => kebab(name));
      expect(new Set(names).size, route.name).toBe(names.length);
      for (const field of fields) {
        const flags = flagNames([route], field);
        expect(flags, `${route.name} ${field.name}`).not.toEqual([]);
        for (const flag of flags) expect(GLOBAL_FLAGS.has(flag), `${route.name} ${flag}`).toBe(false);
      }
      for (const flag of Object.keys(route.cli.flags ?? {}))
        expect(flagsOf(route).has(kebab(flag))).toBe(true);
    }
  });

  it("routes share a command only when an argument tells them apart", () => {
    for (const { noun, verb, routes: variants } of commands) {
      const chosen = new Set(variants.map(({ cli }) => JSON.stringify(cli.fixed)));
      expect(chosen.size, `${noun} ${verb}`).toBe(variants.length);
      for (const { cli } of variants) {
        const names = Object.keys(cli.fixed ?? {});
        expect(names).toEqual(Object.keys(variants[0].cli.fixed ?? {}));
        for (const name of names) expect(cli.args?.indexOf(name)).toBe(variants[0].cli.args?.indexOf(name));
      }
    }
    for (const command of commands)
      expect(commandUsage(command)).toContain(`${command.noun} ${command.verb}`);
  });
});

describe("a command that several routes share", () => {
  const variant = (channel: string, body: z.ZodObject): CliRoute => ({
    name: `approve-${channel}`,
    method: "POST",
    path: `/api/v1/agents/:agentId/${channel}/approve`,
    auth: "admin",
    summary: channel,
    tag: "channels",
    body: () => body,
    responses: { 200: null },
    cli: { noun: "channels", verb: "approve", args: ["agentId", "channel", "code"], fixed: { channel } },
  });
  const code = z.object({ code: z.string() });
  const bot = variant("botchat", code);
  const device = variant("devicechat", code.extend({ account_id: z.string().optional() }));
  const command: Command = { noun: "channels", verb: "approve", routes: [bot, device] };
  const flags = new Map([...flagsOf(bot), ...flagsOf(device)]);
  const choose = (...tokens: string[]) => chooseRoute(command, parseFlags(tokens, flags));

  it("takes the route that the argument names, wherever it stands, and does not send it [CH-CLI-1]", () => {
    expect(choose("a", "devicechat", "CODE").name).toBe("approve-devicechat");
    expect(choose("CODE", "--agent", "a", "--channel=botchat").name).toBe("approve-botchat");
    const { input } = buildRequest(bot, parseFlags(["a", "botchat", "CODE"], flagsOf(bot)));
    expect(input).toEqual({ params: { agentId: "a" }, query: {}, body: { code: "CODE" } });
    expect(() => choose("a")).toThrow("Missing: channel (botchat, devicechat).");
    expect(() => choose("a", "smoke", "CODE")).toThrow("channel must be one of botchat, devicechat.");
  });

  it("has one line of help, with the values to choose from [CH-CLI-1]", () => {
    expect(commandUsage(command)).toBe("agent-gateway channels approve <agent> <channel> <code> [flags]");
    const fields = fieldsOfCommand(command).map(({ name, required, hint }) => [name, required, hint]);
    expect(fields).toEqual([
      ["channel", true, "botchat|devicechat"],
      ["agentId", true, "text"],
      ["code", true, "text"],
      ["account_id", false, "text"],
    ]);
  });
});

describe("times", () => {
  it("are told in their largest unit [CH-CLI-2]", () => {
    const past = (ms: number) => ago(1e12 - ms, 1e12);
    expect([past(-5), past(89_000), past(120_000)]).toEqual(["0 s ago", "89 s ago", "2 min ago"]);
    expect([past(7_200_000), past(49 * 3_600_000), ago(null)]).toEqual(["2 h ago", "2 d ago", ""]);
  });
});

describe("requests", () => {
  it("puts numbers, booleans, lists and JSON where the schema wants them", () => {
    const { input } = build(
      "sendMessage",
      "assistant",
      "hi",
      "--chat",
      "me",
      "--timeout",
      "5",
      "--stream",
      "--no-store-user-message",
      "--media",
      "a,b",
      "--media",
      "c",
      "--image-params",
      '{"n": 2}',
    );
    expect(input.params).toEqual({ agentId: "assistant" });
    expect(input.body).toEqual({
      message: "hi",
      chat_id: "me",
      timeout_ms: 5,
      stream: true,
      store_user_message: false,
      media_files: ["a", "b", "c"],
      image_params: { n: 2 },
    });
  });

  it("takes plain words for a list of objects with one field, and true, false or a list where either goes", () => {
    const shares = build("createShares", "--agent", "a", "--session", "s", "--chat", "c", "--refs", "x,y");
    expect(shares.input.body?.refs).toEqual([{ path: "x" }, { path: "y" }]);
    expect(build("updateAgent", "a", "--allow-tools", "false").input.body).toEqual({ allow_tools: false });
    expect(build("updateAgent", "a", "--allow-tools", "Read").input.body).toEqual({ allow_tools: ["Read"] });
  });

  it("merges --data, which what is typed wins over; null passes through it", () => {
    const { input } = build(
      "updateAgent",
      "a",
      "--name",
      "typed",
      "--data",
      '{"name": "data", "model": null}',
    );
    expect(input.body).toEqual({ name: "typed", model: null });
    expect(build("listSessions", "a", "--data", '{"chat_id": "me"}').input.query).toEqual({ chat_id: "me" });
    expect(
      build("renameSession", "a", "s", "--data", '{"chat_id": "c", "sessionName": "n"}').input.body,
    ).toEqual({
      chat_id: "c",
      sessionName: "n",
    });
  });

  it("names everything that is missing", () => {
    expect(() => build("sendMessage")).toThrow("Missing: agent-id, message, chat-id.");
    expect(() => build("sendMessage", "a", "m", "--chat", "c", "--timeout", "x")).toThrow(
      "timeout-ms must be a number",
    );
  });
});

describe("output", () => {
  it("aligns columns also under wide characters, and leaves empty columns out", () => {
    const rows = [
      { id: "日本", name: "x", none: null },
      { id: "abcdef", name: "y", none: [] },
    ];
    expect(table(rows, true)).toBe("id      name\n日本    x\nabcdef  y\n");
    expect(table(rows, false)).toBe("日本\tx\t\nabcdef\ty\t[]\n");
  });

  it("shows a reply's text, objects by line, and nothing for an empty list", () => {
    expect(render({ response: "text", session_id: "s" })).toBe("text\n");
    expect(render({ agent: { id: "a", runtime: { type: "auto" } } })).toBe(
      'id: a\nruntime: {"type":"auto"}\n',
    );
    expect(render({ sessions: [] })).toBe("");
    expect(render(null)).toBe("done\n");
  });
});
