import { join } from "node:path";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import {
  agentEnvFile,
  ConfigFileError,
  connectorSecretsFile,
  createPaths,
  describeProblem,
  homeEnvFile,
} from "../../../packages/gateway/src/config/index.ts";
import { unknownKeys, unwrap } from "../../../packages/gateway/src/config/introspect.ts";
import { error, schemaProblems, skipping, warning } from "../../../packages/gateway/src/config/problems.ts";
import { firstTimezone, isTimezone } from "../../../packages/gateway/src/config/timezone.ts";

describe("a problem in one line", () => {
  it.each([
    ["", "the file is gone", "the file is gone"],
    ["gateway.port", "must be a number", "gateway.port must be a number"],
    ["gateway.store", "needs url", "gateway.store needs url"],
    ["gateway.port", "mustard", "gateway.port: mustard"],
    ["gateway.port", "it must be", "gateway.port: it must be"],
    ["gateway.api.keys.4", "is off", "gateway.api.keys[4]: is off"],
    ["gateway.api.keys.14.id", "is off", "gateway.api.keys[14].id: is off"],
    ["a.1.2.3b", "is off", "a[1][2].3b: is off"],
  ])("has the place as people write it: %s %s", (path, message, line) => {
    expect(describeProblem(warning(path, message))).toBe(line);
  });

  it("names the agent that is skipped, by its id where it has one", () => {
    const inside = skipping([error("agents.12.botchat.allow.3", "is off")], 12, 'a"b');
    expect(inside.map(describeProblem)).toEqual([
      'agent "a\\"b" (agents[12]) is skipped: botchat.allow[3]: is off',
    ]);
    const whole = skipping([error("agents.0", "another agent has this id")], 0, 7);
    expect(whole.map(describeProblem)).toEqual([
      "the agent at agents[0] is skipped: another agent has this id",
    ]);
  });

  it("comes from a schema with its place below the section, or none for the whole file", () => {
    const schema = z.object({ list: z.array(z.number()) });
    const failure = schema.safeParse({ list: [1, "x"] }).error!;
    expect(schemaProblems(failure, "gateway")).toMatchObject([{ level: "error", path: "gateway.list.1" }]);
    expect(schemaProblems(failure, "")).toMatchObject([{ path: "list.1" }]);
  });

  it("ends a start with status 78", () => {
    const failure = new ConfigFileError("why");
    expect(failure).toMatchObject({ name: "ConfigFileError", message: "why", exitCode: 78, problems: [] });
  });
});

describe("keys that the schema does not have", () => {
  const item = z.looseObject({ a: z.number() });
  const schema = z.looseObject({
    plain: z.number().nullable().default(1),
    list: z.array(item).optional(),
    byName: z.record(z.string(), item).default({}),
    either: z.union([z.literal(false), item.prefault({ a: 1 })]).catch(false),
    neither: z.union([z.string(), z.number()]),
    free: z.unknown(),
  });

  it("are found in lists, records, unions and below defaults, with their place", () => {
    const value = {
      plain: { x: 1 },
      list: [{ a: 1 }, { a: 1, x: 1 }],
      byName: { n: { x: 1 } },
      either: { a: 1, x: { y: 1 } },
      neither: { x: 1 },
      free: { x: 1 },
      toString: 1,
    };
    expect(unknownKeys(schema, value)).toEqual(["list.1.x", "byName.n.x", "either.x", "toString"]);
    expect(unknownKeys(schema, value, "at")).toContain("at.list.1.x");
  });

  it.each([null, 7, "x", true])("are none in what has the wrong form: %j", (value) => {
    expect(unknownKeys(schema, value)).toEqual([]);
    expect(unknownKeys(schema, { list: value, byName: value, either: value })).toEqual([]);
    expect(unknownKeys(schema, [{ x: value }])).toEqual([]);
    expect(unknownKeys(schema, { list: { x: value }, byName: [{ x: value }], either: [value] })).toEqual([]);
  });

  it("are known by rules whose wrappers tell their default, null, note and restart", () => {
    const outer = z.number().describe("Note.").meta({ restart: true }).nullable().default(7).optional();
    expect(unwrap(outer)).toMatchObject({ nullable: true, fallback: 7, description: "Note.", restart: true });
    expect(unwrap(outer).schema).toBeInstanceOf(z.ZodNumber);
    const plain = unwrap(z.string().catch("x"));
    expect(plain).toEqual({
      schema: expect.any(z.ZodString),
      nullable: false,
      fallback: undefined,
      description: undefined,
      restart: false,
    });
    expect(unwrap(z.string().describe("inner").optional().describe("outer")).description).toBe("outer");
  });
});

describe("places on the disk", () => {
  it("are all below the home, but for what the environment names", () => {
    const paths = createPaths({ GATEWAY_HOME: "/srv/gw" });
    expect(paths).toMatchObject({ home: "/srv/gw", database: "/srv/gw/gateway.db", logs: "/srv/gw/logs" });
    expect(paths.mediaDir("a")).toBe("/srv/gw/agents/a/media");
    expect(agentEnvFile(paths, "a")).toBe("/srv/gw/agents/a/.env");
    expect(homeEnvFile(paths)).toBe("/srv/gw/.env");
    expect(connectorSecretsFile(paths, {})).toBe("/srv/gw/mcp-token.env");
    const env = { HOME: "/home/u", GATEWAY_MCP_TOKEN_ENV_PATH: "~/secrets.env" };
    expect(connectorSecretsFile(paths, env)).toBe("/home/u/secrets.env");
  });

  it.each([
    ["~", "/home/u"],
    ["~/gw", "/home/u/gw"],
    ["~gw", join(process.cwd(), "~gw")],
    ["/a/~/b", "/a/~/b"],
    ["rel", join(process.cwd(), "rel")],
  ])("have ~ for the user's own folder only at the beginning: %s", (home, full) => {
    expect(createPaths({ HOME: "/home/u", GATEWAY_HOME: home }).home).toBe(full);
  });
});

describe("time zones", () => {
  it.each([
    ["UTC", true],
    ["Asia/Tokyo", true],
    ["+02:00", true],
    ["Mars/Base", false],
    ["", false],
    [undefined, false],
    [7, false],
    [null, false],
  ])("%j is one: %s", (name, known) => {
    expect(isTimezone(name)).toBe(known);
  });

  it("are the first that is one", () => {
    expect(firstTimezone(undefined, "x", "Asia/Tokyo", "UTC")).toBe("Asia/Tokyo");
    expect(firstTimezone()).toBe("UTC");
  });
});
