import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Model } from "@agent-gateway/contract";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Config } from "../../../packages/gateway/src/config/index.ts";
import { systemClock } from "../../../packages/gateway/src/lib/clock.ts";
import { silentLogger } from "../../../packages/gateway/src/lib/logger.ts";
import { createModels } from "../../../packages/gateway/src/models/index.ts";

const own: Model[] = [
  { id: "claude-sonnet-4-5", name: "Own Sonnet", alias: "sonnet", contextWindow: 1_000_000, multiplier: 2 },
  { id: "local-model", name: "Local", alias: "local", contextWindow: 8000, multiplier: 0 },
];
const minute = 60_000;

let now: number;
let seen: IncomingMessage[];
let answer: (req: IncomingMessage, res: ServerResponse) => void;
let server: Server;
let base: string;
beforeEach(async () => {
  now = 1_000_000_000_000;
  seen = [];
  answer = (_, res) => res.end(JSON.stringify({ data: [{ id: "live", display_name: "Live" }] }));
  server = createServer((req, res) => {
    seen.push(req);
    answer(req, res);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

const make = (
  env: Record<string, string> = { MODELS_BASE_URL: base },
  settings: Record<string, string> = {},
  list = own,
) =>
  createModels({
    config: { current: { gateway: { models: list } } as Config },
    env,
    readSettings: async () => settings,
    fetch,
    clock: { ...systemClock, now: () => now, elapsed: () => now },
    log: silentLogger,
  });
const ids = (models: Model[]) => models.map(({ id }) => id);
const rows = (...data: unknown[]) => {
  answer = (_, res) => res.end(JSON.stringify({ data }));
};
const fail = (status = 500) => {
  answer = (_, res) => res.writeHead(status).end("no");
};

describe("the live catalogue", () => {
  it("is fetched from <base>/v1/models, cached 60 s and shared by concurrent callers [MODEL-1]", async () => {
    const models = make({ MODELS_BASE_URL: `${base}/sub/` });
    const lists = await Promise.all([models.list(), models.list(), models.list()]);
    expect(new Set(lists.map((list) => JSON.stringify(list))).size).toBe(1);
    expect(seen.map(({ url }) => url)).toEqual(["/sub/v1/models"]);
    now += minute - 1;
    await models.list();
    expect(seen).toHaveLength(1);
    now += 1;
    await models.list();
    expect(seen).toHaveLength(2);
  });

  it("takes base and token from the environment, then from the settings file [MODEL-1]", async () => {
    const dead = "http://127.0.0.1:1";
    const token = async (env: Record<string, string>, settings: Record<string, string> = {}) => {
      await make(env, settings).list();
      return seen.pop()?.headers.authorization;
    };
    expect(await token({ MODELS_BASE_URL: base, ANTHROPIC_BASE_URL: dead, MODELS_API_KEY: "k" })).toBe(
      "Bearer k",
    );
    expect(await token({ ANTHROPIC_BASE_URL: base, ANTHROPIC_AUTH_TOKEN: "t" })).toBe("Bearer t");
    expect(await token({ ANTHROPIC_BASE_URL: dead }, { MODELS_BASE_URL: base, MODELS_API_KEY: "s" })).toBe(
      "Bearer s",
    );
    expect(await token({ ANTHROPIC_AUTH_TOKEN: "t" }, { ANTHROPIC_BASE_URL: base })).toBe("Bearer t");
    expect(await token({ MODELS_BASE_URL: base })).toBeUndefined();
  });

  it("supplies id and name; the rest comes from the configured entry, else id and 200000 [MODEL-3]", async () => {
    rows(
      { id: "local-model", name: "Named by the row" },
      { id: "brand-new", display_name: "New" },
      { id: "bare" },
      { name: "no id" },
      null,
      "text",
    );
    expect(await make().list()).toEqual([
      { id: "local-model", name: "Named by the row", alias: "local", contextWindow: 8000, multiplier: 0 },
      { id: "brand-new", name: "New", alias: "brand-new", contextWindow: 200_000, multiplier: 1 },
      { id: "bare", name: "bare", alias: "bare", contextWindow: 200_000, multiplier: 1 },
    ]);
  });

  it("drops rows of non-chat kinds and keeps rows without one [MODEL-3]", async () => {
    const kinds = [
      "image",
      "audio",
      "embedding",
      "embeddings",
      "rerank",
      "video",
      "tts",
      "text-to-image",
      "moderation",
    ];
    rows(
      ...kinds.map((kind) => ({ id: kind, kind })),
      { id: "image-by-type", type: "image_generation" },
      { id: "a", kind: "chat" },
      { id: "b", type: "model" },
      { id: "c", type: "image-text-to-text" },
      { id: "d" },
      { id: "e", kind: "llm" },
    );
    expect(ids(await make().list())).toEqual(["a", "b", "c", "d", "e"]);
  });

  it("also comes as {models: [...]} [MODEL-1]", async () => {
    answer = (_, res) => res.end(JSON.stringify({ models: [{ id: "other-form" }] }));
    expect(ids(await make().list())).toEqual(["other-form"]);
  });

  it("replaces the configured list, whose omitted models stay addressable [MODEL-4]", async () => {
    const models = make();
    expect(ids(await models.list())).toEqual(["live"]);
    expect(await models.resolve("local")).toBe("local-model");
    expect(await models.resolve("local-model")).toBe("local-model");
    expect(models.contextWindow("local-model")).toBe(8000);
    expect(models.contextWindow("live")).toBe(200_000);
    expect(models.contextWindow("unknown")).toBeUndefined();
    expect(await models.resolve("unknown")).toBeUndefined();
  });

  it("gives the bare family alias to the newest model [MODEL-5]", async () => {
    rows({ id: "claude-sonnet-4-5" }, { id: "claude-sonnet-5" }, { id: "claude-opus-4-1" });
    const models = make();
    const aliases = Object.fromEntries((await models.list()).map(({ id, alias }) => [id, alias]));
    expect(aliases).toMatchObject({ "claude-sonnet-5": "sonnet", "claude-sonnet-4-5": "sonnet-4.5" });
    expect(await models.resolve("Sonnet")).toBe("claude-sonnet-5");
    expect(await models.resolve("sonnet-4.5")).toBe("claude-sonnet-4-5");
    expect(await models.resolve("opus")).toBe("claude-opus-4-1");
  });
});

describe("the configured list", () => {
  it("stands in without a base URL and while the catalogue cannot be used [MODEL-2]", async () => {
    expect(await make({}).list()).toEqual(own);
    const broken: Array<typeof answer> = [
      (_, res) => res.writeHead(401).end("no"),
      (_, res) => res.end("<html>"),
      (_, res) => res.end("{}"),
      (_, res) => res.end('{"data":[]}'),
      (_, res) => res.end('{"data":[{"id":"x","kind":"image"}]}'),
      (_, res) => res.destroy(),
    ];
    for (const broke of broken) {
      answer = broke;
      expect(await make().list()).toEqual(own);
    }
    expect(await make({ MODELS_BASE_URL: "not a url" }).list()).toEqual(own);
    expect(await make({ MODELS_BASE_URL: "ftp://x" }).list()).toEqual(own);
  });

  it("stands in for a plain http host elsewhere: the token never goes out in cleartext [MODEL-2]", async () => {
    let fetched = 0;
    const models = createModels({
      config: { current: { gateway: { models: own } } as Config },
      env: { MODELS_BASE_URL: "http://models.example.org", MODELS_API_KEY: "k" },
      readSettings: async () => ({}),
      fetch: async () => {
        fetched++;
        return new Response('{"data":[{"id":"x"}]}');
      },
      clock: systemClock,
      log: silentLogger,
    });
    expect(await models.list()).toEqual(own);
    expect(fetched).toBe(0);
  });

  it("takes over when a catalogue has failed for an hour; until then the old one is served [MODEL-2]", async () => {
    const models = make();
    await models.list();
    fail();
    now += 59 * minute;
    expect(ids(await models.list())).toEqual(["live"]);
    now += minute;
    expect(await models.list()).toEqual(own);
    rows({ id: "back" });
    expect(ids(await models.list())).toEqual(["back"]);
  });

  it("stands in when a redirect leads to another host, which gets no token [MODEL-2]", async () => {
    const other: string[] = [];
    const stranger = createServer((req, res) => {
      other.push(String(req.headers.authorization));
      res.end('{"data":[{"id":"stranger"}]}');
    });
    await new Promise<void>((resolve) => stranger.listen(0, "127.0.0.1", resolve));
    const port = (stranger.address() as AddressInfo).port;
    answer = (_, res) => res.writeHead(302, { location: `http://127.0.0.1:${port}/v1/models` }).end();
    expect(await make({ MODELS_BASE_URL: base, MODELS_API_KEY: "k" }).list()).toEqual(own);
    expect(other).toEqual([]);
    stranger.close();
    answer = (req, res) =>
      req.url === "/moved"
        ? res.end('{"data":[{"id":"moved"}]}')
        : res.writeHead(307, { location: "/moved" }).end();
    expect(ids(await make().list())).toEqual(["moved"]);
    answer = (_, res) => res.writeHead(302, { location: "/v1/models" }).end();
    expect(await make().list()).toEqual(own);
  });

  it("stands in for a catalogue without end [MODEL-2]", async () => {
    answer = (_, res) => {
      const chunk = Buffer.alloc(1024 * 1024, " ");
      const more = () => {
        while (!res.destroyed && res.write(chunk));
      };
      res.on("drain", more);
      more();
    };
    expect(await make().list()).toEqual(own);
  });
});

describe("without any list", () => {
  it("every plausible id names itself, and nothing else", async () => {
    const models = make({}, {}, []);
    expect(await models.list()).toEqual([]);
    expect(await models.resolve("vendor/some-model:1.5[1m]")).toBe("vendor/some-model:1.5[1m]");
    for (const bad of ["", "-x", "a b", "${SECRET}", "a\nb"]) {
      expect(await models.resolve(bad), bad).toBeUndefined();
    }
  });
});
