import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { hasFakeModel, startFakeModel } from "./fixtures/fake-model.ts";
import { startMcpHttp } from "./fixtures/mcp-http.ts";
import { type Gateway, type GatewayOptions, root, startGateway, testConfig } from "./harness.ts";

const SECRET = "a {b} ${C} secret";
const program = {
  config: {
    command: process.execPath,
    args: [join(root, "test/fixtures/mcp-server.mjs")],
    env: { FIXTURE_MARK: "with {token}" },
  },
};

/** A home whose file of secrets has these lines. */
async function homeWith(...secrets: string[]): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), "agent-gateway-test-"));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  await writeFile(join(home, "mcp-token.env"), `${secrets.join("\n")}\n`, { mode: 0o600 });
  return home;
}

const withConnectors = (customConnectors: object, more: GatewayOptions = {}): GatewayOptions => ({
  ...more,
  gateway: { customConnectors, ...more.gateway },
});

async function start(home: string, options: GatewayOptions): Promise<Gateway> {
  return startGateway({ home, config: testConfig(options) });
}

const say = async (gateway: Gateway, text: string, more = {}) => {
  const { status, body } = await gateway.send(text, more);
  expect(status, JSON.stringify(body)).toBe(200);
  return body.response as string;
};

const sessionFile = (gateway: Gateway, sessionId: unknown) =>
  join(gateway.home, "agents/assistant/sessions/api-me", String(sessionId), "mcp.json");

describe("connectors", () => {
  it("work for an agent CLI, over stdio and HTTP, with their secrets as they are [CONN-1, CONN-2]", async () => {
    const url = await startMcpHttp(`Bearer ${SECRET}`);
    const http = { config: { type: "http", url, headers: { Authorization: "Bearer {key}" } } };
    const home = await homeWith(`CUSTOM__local__token=${SECRET}`, `CUSTOM__far-away__key="${SECRET}"`);
    await using gateway = await start(
      home,
      withConnectors({ local: program, "far-away": http }, { gateway: { logs: { level: "debug" } } }),
    );
    expect(await say(gateway, "SERVERS")).toBe("gateway,local,far-away");
    expect(await say(gateway, 'SERVER local echo {"text":"hi"}')).toBe(`Server: echo hi with ${SECRET}`);
    expect(await say(gateway, 'SERVER far-away echo {"text":"hi"}')).toBe("Server: echo hi");
    expect(await say(gateway, "ARGV")).not.toContain(SECRET);
    expect(gateway.output()).not.toContain(SECRET);
  });

  it("work for an ACP agent, whether or not it speaks their transport [CONN-1, CONN-33]", async () => {
    const url = await startMcpHttp("Bearer token");
    const http = { config: { url, headers: { Authorization: "Bearer {key}" } } };
    const home = await homeWith("CUSTOM__local__token=it", "CUSTOM__web__key=token");
    const command = [process.execPath, join(root, "test/fixtures/fake-acp-agent.mjs")];
    const agent = (traits: object) => ({
      runtime: { type: "acp", command },
      env: { FAKE_ACP: JSON.stringify(traits) },
    });
    const options = (traits: object) =>
      withConnectors({ local: program, web: http }, { agent: agent(traits) });
    await using gateway = await start(home, options({ http: true }));
    const echo = (server: string) => say(gateway, `ASKSERVER ${server} echo {"text":"hi"}`);
    expect(await echo("local")).toContain("echo hi with it");
    expect(await echo("web")).toContain("echo hi");
    await gateway.stop();
    await using poorer = await start(home, options({}));
    expect(await say(poorer, "SERVERS")).toBe(
      '[{"name":"gateway","type":"stdio"},{"name":"local","type":"stdio"},{"name":"web","type":"stdio"}]',
    );
    expect(await say(poorer, 'ASKSERVER web echo {"text":"over the bridge"}')).toContain(
      "echo over the bridge",
    );
  });

  it.skipIf(!hasFakeModel)("work for the builtin runtime [CONN-1]", async () => {
    const home = await homeWith("CUSTOM__local__token=it", "CUSTOM__web__key=token");
    const model = await startFakeModel(join(home, "requests"));
    onTestFinished(() => model.stop());
    const url = await startMcpHttp("Bearer token");
    const http = { config: { type: "streamable-http", url, headers: { Authorization: "Bearer {key}" } } };
    const runtime = { type: "builtin", provider: "anthropic", baseUrl: model.url, apiKey: "k", model: "m" };
    await using gateway = await start(
      home,
      withConnectors({ local: program, web: http }, { agent: { runtime } }),
    );
    expect(await say(gateway, 'TOOL mcp__local__echo {"text":"hi"}')).toContain("echo hi with it");
    expect(await say(gateway, 'TOOL mcp__web__echo {"text":"hi"}')).toContain("echo hi");
  });

  it("go by the agent's entry, then the connector's default, then the gateway's [CONN-3]", async () => {
    const home = await homeWith("CUSTOM__a__token=1", "CUSTOM__b__token=1", "CUSTOM__c__token=1");
    const connectors = { a: program, b: { ...program, defaultEnabled: false }, c: program, d: program };
    const agent = { connectors: { b: { enabled: true }, c: { enabled: false } } };
    await using gateway = await start(home, withConnectors(connectors, { agent }));
    // The last one has no secret.
    expect(await say(gateway, "SERVERS")).toBe("gateway,a,b");
    const off = { gateway: { connectorsDefaultEnabled: false }, agent };
    await gateway.writeConfig(testConfig(withConnectors(connectors, off)));
    await expect.poll(() => say(gateway, "SERVERS"), { timeout: 20_000 }).toBe("gateway,b");
  });

  it("are named in allowTools [CONN-4]", async () => {
    const home = await homeWith(...["one", "whole", "none"].map((id) => `CUSTOM__${id}__token=1`));
    const connectors = { one: program, whole: program, none: program };
    const agent = { allowTools: ["Bash", "mcp__whole", "mcp__one__echo"] };
    await using gateway = await start(home, withConnectors(connectors, { agent }));
    expect(await say(gateway, "SERVERS")).toBe("gateway,one,whole");
    expect(await say(gateway, 'SERVER one echo {"text":"x"}')).toMatch(/^Server/);
    expect(await say(gateway, 'SERVER one pid {"text":"x"}')).toMatch(/^Denied/);
    expect(await say(gateway, 'SERVER whole pid {"text":"x"}')).toMatch(/^Server/);
    expect(await say(gateway, "ARGV")).toMatch(/"--tools","Bash"/);
    await gateway.writeConfig(testConfig(withConnectors(connectors, { agent: { allowTools: false } })));
    await expect.poll(() => say(gateway, "SERVERS"), { timeout: 20_000 }).toBe("gateway");
  });

  it("leave no secret behind, also after a kill, and replace what lies in the way [CONN-5]", async () => {
    const home = await homeWith("CUSTOM__local__token=it");
    const options = withConnectors({ local: program });
    const first = await start(home, options);
    const { body } = await first.send("hello");
    const file = sessionFile(first, body.session_id);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(JSON.parse(await readFile(file, "utf8")).mcpServers.local.env.FIXTURE_MARK).toBe("with it");
    await first.kill();
    expect(existsSync(file)).toBe(true);
    const second = await start(home, options);
    expect(existsSync(file)).toBe(false);
    const elsewhere = join(home, "elsewhere");
    await writeFile(elsewhere, "untouched");
    await symlink(elsewhere, file);
    expect(await say(second, "SERVERS", { session_id: body.session_id })).toBe("gateway,local");
    expect(await readFile(elsewhere, "utf8")).toBe("untouched");
    await second.stop();
    expect(existsSync(file)).toBe(false);
  });

  it("change before the next turn of a running session [CONN-6]", async () => {
    const home = await homeWith("CUSTOM__local__token=old");
    await using gateway = await start(home, withConnectors({ local: program }));
    const { body } = await gateway.send('SERVER local echo {"text":"x"}');
    expect(body.response).toBe("Server: echo x with old");
    const next = (text: string) => say(gateway, text, { session_id: body.session_id });
    const pid = await next("PID");
    expect(await next("PID")).toBe(pid);
    await writeFile(join(home, "mcp-token.env"), "CUSTOM__local__token=new\n");
    expect(await next('SERVER local echo {"text":"x"}')).toBe("Server: echo x with new");
    expect(await next("HISTORY")).toContain("with old");
    await writeFile(join(home, "mcp-token.env"), "");
    expect(await next("SERVERS")).toBe("gateway");
    expect(existsSync(sessionFile(gateway, body.session_id))).toBe(false);
  });

  it("that cannot be used are told once in the log and left out [CONN-7]", async () => {
    const home = await homeWith("CUSTOM__args__t=argument-secret", "CUSTOM__ftp__t=address-secret");
    const command = process.execPath;
    const connectors = {
      args: { config: { command, args: ["{t}"] } },
      ftp: { config: { url: "ftp://{t}/" } },
      both: { config: { command, url: "http://127.0.0.1/" } },
      empty: {},
      gateway: program,
      botchat: program,
      fine: { config: { command, args: program.config.args } },
    };
    await using gateway = await start(home, withConnectors(connectors));
    expect(await say(gateway, "SERVERS")).toBe("gateway,fine");
    for (const [id, reason] of [
      ["args", "placeholder in its command or args"],
      ["ftp", "not an http"],
      ["both", "needs either"],
      ["empty", "has no config"],
      ["gateway", "the gateway itself uses"],
      ["botchat", "the gateway itself uses"],
    ]) {
      expect(gateway.output()).toMatch(new RegExp(`(?=.*connector.*${id})(?=.*${reason})`));
    }
    expect(gateway.output()).not.toMatch(/argument-secret|address-secret/);
  });
});
