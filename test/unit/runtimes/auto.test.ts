import { chmod, mkdir, writeFile } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../../packages/gateway/src/lib/clock.ts";
import { silentLogger } from "../../../packages/gateway/src/lib/logger.ts";
import { type DetectOptions, detectRuntime } from "../../../packages/gateway/src/runtimes/auto.ts";
import { createRuntimeFactory, type RuntimeAgent } from "../../../packages/gateway/src/runtimes/index.ts";
import { tempFolder } from "../../fixtures/temp-home.ts";

async function binDir(program: string, mode = 0o755): Promise<string> {
  const dir = await tempFolder();
  await writeFile(join(dir, program), "#!/bin/sh\nexit 0\n");
  await chmod(join(dir, program), mode);
  return dir;
}

async function serve(handler: RequestListener): Promise<{ port: number; requests: string[] }> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(request.url ?? "");
    handler(request, response);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, requests };
}

const answer =
  (body: unknown): RequestListener =>
  (_request, response) => {
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
  };
const models = (...ids: string[]) =>
  answer({ object: "list", data: ids.map((id) => ({ id, object: "model" })) });

const detect = (env: Record<string, string>, ports: number[] = [], more: Partial<DetectOptions> = {}) =>
  detectRuntime({ env, loopbackPorts: ports, log: silentLogger, ...more });

test("auto picks AGENT_CLI_BIN before `claude` on PATH, and both before keys and local servers", async () => {
  const path = await binDir("claude");
  const other = join(await binDir("other-cli"), "other-cli");
  const { port, requests } = await serve(models("local"));
  const env = { PATH: `/nowhere:${path}`, ANTHROPIC_API_KEY: "k", OPENAI_API_KEY: "k" };
  expect(await detect({ ...env, AGENT_CLI_BIN: other }, [port])).toMatchObject({
    type: "agent-cli",
    command: [other],
    reason: "AGENT_CLI_BIN is set",
  });
  expect(await detect(env, [port])).toMatchObject({ type: "agent-cli", command: [join(path, "claude")] });
  expect(requests).toEqual([]);
});

test("auto passes over an AGENT_CLI_BIN that does not exist and a `claude` that is no program", async () => {
  const notExecutable = await binDir("claude", 0o644);
  const folder = await tempFolder();
  await mkdir(join(folder, "claude"));
  const found = await detect({ PATH: `${notExecutable}:${folder}`, AGENT_CLI_BIN: "/nowhere/cli" });
  expect(found.type).toBe("starter");
  expect(found.tried).toEqual([
    "AGENT_CLI_BIN: names no program",
    "claude: not on PATH",
    "ANTHROPIC_API_KEY: not set",
    "OPENAI_API_KEY: not set",
  ]);
});

test("auto picks ANTHROPIC_API_KEY, then OPENAI_API_KEY, before a local server", async () => {
  const { port } = await serve(models("local"));
  expect(await detect({ ANTHROPIC_API_KEY: "a", OPENAI_API_KEY: "o" }, [port])).toMatchObject({
    type: "builtin",
    runtime: { provider: "anthropic" },
    reason: "ANTHROPIC_API_KEY is set",
  });
  expect(await detect({ ANTHROPIC_API_KEY: "", OPENAI_API_KEY: "o" }, [port])).toMatchObject({
    type: "builtin",
    runtime: { provider: "openai" },
  });
});

test("auto takes the first local server in the order of ports that lists OpenAI models", async () => {
  const web = await serve((_request, response) => response.end("<html>hello</html>"));
  const other = await serve(answer({ data: [{ id: "not-a-model-list" }] }));
  const missing = await serve((_request, response) => response.writeHead(404).end());
  const redirect = await serve((_request, response) => response.writeHead(302, { location: "/x" }).end());
  const first = await serve(models("text-embedding-small", "qwen3:8b", "second"));
  const second = await serve(models("never"));
  const ports = [web, other, missing, redirect, first, second].map(({ port }) => port);
  const found = await detect({}, ports);
  expect(found).toMatchObject({
    type: "builtin",
    runtime: {
      provider: "openai-compatible",
      baseUrl: `http://127.0.0.1:${first.port}/v1`,
      model: "qwen3:8b",
    },
  });
  expect(first.requests).toEqual(["/v1/models"]);
});

test("auto waits no longer than 300 ms for local servers, and then takes the starter", async () => {
  const silent = await serve(() => {});
  const started = performance.now();
  const found = await detect({}, [silent.port]);
  expect(performance.now() - started).toBeLessThan(1500);
  expect(found).toMatchObject({
    type: "starter",
    reason: "no agent CLI, key or local model was found",
  });
  expect(found.tried).toContain(`127.0.0.1:${silent.port}: no model server`);
});

test("auto never asks the gateway's own port", async () => {
  const own = await serve(models("me"));
  expect((await detect({}, [own.port], { ownPort: own.port })).type).toBe("starter");
  expect(own.requests).toEqual([]);
});

const agent = (runtime: RuntimeAgent["runtime"], env: Record<string, string> = {}): RuntimeAgent => ({
  id: "assistant",
  runtime,
  env,
});
const factory = (env: Record<string, string> = {}, ports: number[] = []) =>
  createRuntimeFactory({ env, clock: systemClock, log: silentLogger, detect: { loopbackPorts: ports } });

test("an agent keeps its runtime until its configuration changes", async () => {
  const runtimes = factory();
  const first = await runtimes.forAgent(agent({ type: "auto" }));
  expect(first.type).toBe("starter");
  expect(await runtimes.forAgent(agent({ type: "auto" }))).toBe(first);
  runtimes.refresh(["assistant"]);
  expect(await runtimes.forAgent(agent({ type: "auto" }))).toBe(first);
  const next = await runtimes.forAgent(agent({ type: "auto" }, { ANTHROPIC_API_KEY: "k" }));
  expect(next.type).toBe("builtin");
  expect(await runtimes.describe(agent({ type: "starter" }))).toBe("starter: configured");
  await runtimes.close();
});

test("nothing is kept for an agent that is gone [KEPT-1]", async () => {
  const runtimes = factory();
  const first = await runtimes.forAgent(agent({ type: "starter" }));
  runtimes.refresh(["assistant", "other"]);
  expect(await runtimes.forAgent(agent({ type: "starter" }))).toBe(first);
  runtimes.refresh(["other"]);
  expect(await runtimes.forAgent(agent({ type: "starter" }))).not.toBe(first);
  runtimes.close();
});

test("auto looks around once, and again after a reload of the configuration", async () => {
  let handler: RequestListener = (_request, response) => response.writeHead(404).end();
  const { port, requests } = await serve((request, response) => handler(request, response));
  const runtimes = factory({}, [port]);
  expect(await runtimes.describe(agent({ type: "auto" }))).toBe(
    "starter: no agent CLI, key or local model was found",
  );
  handler = models("qwen3:8b");
  expect((await runtimes.forAgent(agent({ type: "auto" }))).type).toBe("starter");
  expect(requests).toHaveLength(1);
  runtimes.refresh(["assistant"]);
  expect((await runtimes.forAgent(agent({ type: "auto" }))).type).toBe("builtin");
  expect(await runtimes.describe(agent({ type: "auto" }))).toContain(`127.0.0.1:${port} (model qwen3:8b)`);
});

test("a missing agent CLI, a missing key and a wrong section are clear errors, and not remembered", async () => {
  const env: Record<string, string> = {};
  const runtimes = factory(env);
  await expect(runtimes.forAgent(agent({ type: "agent-cli" }))).rejects.toThrow(
    "The agent CLI was not found",
  );
  await expect(runtimes.forAgent(agent({ type: "builtin" }))).rejects.toThrow("runtime.provider is wrong");
  const builtin = agent({ type: "builtin", provider: "openai" });
  await expect(runtimes.forAgent(builtin)).rejects.toThrow("needs a key: set runtime.apiKey");
  expect(await runtimes.describe(builtin)).toContain("OPENAI_API_KEY");
  await expect(runtimes.forAgent(agent({ type: "builtin", provider: "openai-compatible" }))).rejects.toThrow(
    "needs runtime.baseUrl",
  );
  env.PATH = await binDir("claude");
  expect((await runtimes.forAgent(agent({ type: "agent-cli" }))).type).toBe("agent-cli");
  expect((await runtimes.forAgent(agent({ type: "acp" }))).type).toBe("acp");
});
