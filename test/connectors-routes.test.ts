import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connectorCalls, mcpProgram as program } from "./fixtures/connector-calls.ts";
import { type Gateway, KEYS, startGateway, testConfig } from "./harness.ts";

const SECRET = "a {b} ${C} 'secret'";
let gateway: Gateway;
let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "agent-gateway-test-"));
  const customConnectors = {
    plain: { config: program("of the file") },
    broken: { label: "Broken" },
  };
  gateway = await startGateway({ home, config: testConfig({ gateway: { customConnectors } }) });
});
afterAll(async () => {
  await gateway?.stop();
  await rm(home, { recursive: true, force: true });
});

const { call, add } = connectorCalls(() => gateway);
const listed = async (id: string) => {
  const { body } = await call("GET", "", undefined, KEYS.plain);
  return (body.connectors as Record<string, unknown>[]).find((one) => one.id === id);
};
const tokens = () => readFile(join(home, "mcp-token.env"), "utf8").catch(() => "");
const entries = async () => {
  const { gateway: section } = (await gateway.config()) as {
    gateway: { customConnectors: Record<string, unknown> };
  };
  return section.customConnectors;
};
const agent = async (id = "assistant") =>
  (await gateway.json("GET", `/api/v1/agents/${id}`)).body.agent as { connectors: Record<string, object> };
const problem = async (answer: ReturnType<typeof call>) => {
  const { status, body } = await answer;
  return [status, body.code, (body.details as { path: string }[] | undefined)?.[0]?.path];
};
const events = async () => {
  const { body } = await gateway.json("GET", "/api/v1/events?stream=false&types=connector.*&limit=200");
  return (body.events as { type: string; data: { connector: string } }[]).map(
    ({ type, data }) => `${type.split(".")[1]} ${data.connector}`,
  );
};

describe("the connector routes", () => {
  it("list what is connected and missing, to every key and without configuration [CONN-20]", async () => {
    const { body } = await call("GET", "", undefined, KEYS.other);
    expect(body).toEqual({
      connectors: [
        {
          id: "plain",
          label: "plain",
          description: "",
          credentialOwner: "none",
          connected: true,
          secretNames: [],
          missing: [],
        },
        {
          id: "broken",
          label: "Broken",
          description: "",
          credentialOwner: "none",
          connected: false,
          secretNames: [],
          missing: [],
        },
      ],
      capabilities: { perConnectorDefaults: true },
    });
    const status = await call("GET", "/plain/status", undefined, KEYS.plain);
    expect(status.body).toEqual({ id: "plain", connected: true });
    expect(await problem(call("GET", "/none/status", undefined, KEYS.plain))).toEqual([
      404,
      "NOT_FOUND",
      undefined,
    ]);
  });

  it("add a connector whose secrets go to the file alone [CONN-21]", async () => {
    const added = await add("My Notes!", {
      secrets: { token: SECRET },
      description: "Notes",
      defaultEnabled: false,
    });
    expect(added).toEqual({ id: "my-notes", label: "My Notes!", connected: true });
    expect(await listed("my-notes")).toEqual({
      id: "my-notes",
      label: "My Notes!",
      description: "Notes",
      credentialOwner: "static",
      connected: true,
      secretNames: ["token"],
      missing: [],
      defaultEnabled: false,
    });
    expect(await tokens()).toContain(`CUSTOM__my-notes__token=${SECRET}\n`);
    expect((await stat(join(home, "mcp-token.env"))).mode & 0o777).toBe(0o600);
    expect(JSON.stringify(await gateway.config())).not.toContain("'secret'");
    expect((await entries())["my-notes"]).toMatchObject({
      secretNames: ["token"],
      credentialOwner: "static",
    });
  });

  it("make ids of labels, numbered where one is taken or the gateway's own [CONN-22]", async () => {
    expect((await add("Twice")).id).toBe("twice");
    expect((await add("twice")).id).toBe("twice-2");
    expect((await add("Gateway")).id).toBe("gateway-2");
    expect((await add("BotChat")).id).toBe("botchat-2");
    expect((await add("日本")).id).toBe("connector");
    expect((await add(`-- ${"x".repeat(99)}`)).id).toBe("x".repeat(64));
    expect((await add("x".repeat(90))).id).toBe(`${"x".repeat(62)}-2`);
  });

  it("give a new connector nothing that an earlier one of its id has left [CONN-22]", async () => {
    const { id } = await add("Reborn", { secrets: { token: "old" } });
    const config = (await gateway.config()) as { gateway: { customConnectors: Record<string, unknown> } };
    delete config.gateway.customConnectors[id];
    await gateway.writeConfig(config);
    await expect.poll(() => listed(id)).toBeUndefined();
    expect(await add("Reborn")).toEqual({ id, label: "Reborn", connected: false });
  });

  it("refuse what does not fit together, and save nothing then [CONN-23]", async () => {
    const before = [await entries(), await tokens()];
    const config = program("{token}");
    const web = { url: "https://example.test/mcp", headers: { Authorization: "Bearer {access_token}" } };
    const bad: [object, string | undefined][] = [
      [{ label: "", config }, "label"],
      [{ label: "  ", config }, "label"],
      [{ label: "x" }, "config"],
      [{ label: "x", config, more: 1 }, ""],
      [{ label: "x", config: {} }, "config"],
      [{ label: "x", config: { ...config, url: "http://127.0.0.1" } }, "config"],
      [{ label: "x", config: { type: "pigeon", url: "http://127.0.0.1" } }, "config"],
      [{ label: "x", config: { type: "http", command: "node" } }, "config"],
      [{ label: "x", config: { command: "node", args: ["{token}"] } }, "config"],
      [{ label: "x", config: { command: "{token}" } }, "config"],
      [{ label: "x", config: { url: "ftp://127.0.0.1/{token}" } }, "config.url"],
      [{ label: "x", config, secrets: { other: "x" } }, "secrets.other"],
      [{ label: "x", config, secrets: { token: "" } }, "secrets.token"],
      [{ label: "x", config, secrets: { token: "a\nb" } }, "secrets.token"],
      [{ label: "x", config, secrets: { token: "a\0b" } }, "secrets.token"],
      [{ label: "${HOME}", config }, "label"],
      [{ label: "x", description: "${HOME}", config }, "description"],
      [{ label: "x", config, oauth: true }, "config"],
      [{ label: "x", config: { url: "https://example.test" }, oauth: true }, "config"],
      [{ label: "x", config: web, secrets: { access_token: "x" }, oauth: true }, "secrets.access_token"],
    ];
    for (const [body, path] of bad) {
      expect(await problem(call("POST", "/custom", body)), JSON.stringify(body)).toEqual([
        400,
        "INVALID_REQUEST",
        path,
      ]);
    }
    expect([await entries(), await tokens()]).toEqual(before);
    const { body } = await call("POST", "/custom", { label: "Signed", config: web, oauth: true });
    expect(body).toMatchObject({ id: "signed", connected: false });
    expect(await listed("signed")).toMatchObject({ credentialOwner: "gateway", missing: ["access_token"] });
  });

  it("connect by one token or several secrets [CONN-24]", async () => {
    const one = await add("One");
    expect((await call("POST", "/one/connect", { token: SECRET })).body).toEqual({
      id: one.id,
      connected: true,
    });
    await add("Two", { config: { url: "https://{host}/", headers: { A: "{key}", B: "{key}" } } });
    expect(await listed("two")).toMatchObject({ secretNames: ["host", "key"], missing: ["host", "key"] });
    expect(await problem(call("POST", "/two/connect", { token: "x" }))).toEqual([
      400,
      "INVALID_REQUEST",
      "token",
    ]);
    expect((await call("POST", "/two/connect", { secrets: { key: "k" } })).body).toEqual({
      id: "two",
      connected: false,
    });
    expect(await listed("two")).toMatchObject({ missing: ["host"] });
    expect((await call("POST", "/two/connect", { secrets: { host: "h" } })).body).toEqual({
      id: "two",
      connected: true,
    });
    for (const body of [
      {},
      { token: "a", secrets: {} },
      { secrets: { other: "x" } },
      { token: "a\rb" },
      { token: "" },
    ]) {
      expect((await call("POST", "/one/connect", body)).status, JSON.stringify(body)).toBe(400);
    }
    expect((await call("POST", "/plain/connect", { token: "x" })).status).toBe(400);
    expect((await call("POST", "/signed/connect", { token: "x" })).status).toBe(400);
    // A thing that is not there comes before its body.
    expect((await call("POST", "/none/connect", {})).status).toBe(404);
  });

  it("change what is named, and drop the secrets of placeholders that are gone [CONN-25]", async () => {
    await add("Edit", {
      config: { url: "https://a.test/{a}", headers: { B: "{b}" } },
      secrets: { a: "1", b: "2" },
    });
    const patch = {
      label: "Edited",
      defaultEnabled: true,
      config: { url: "https://a.test/", headers: { B: "{b}" } },
    };
    expect((await call("PATCH", "/edit", patch)).body).toEqual({ id: "edit", connected: true });
    expect(await listed("edit")).toMatchObject({ label: "Edited", secretNames: ["b"], defaultEnabled: true });
    expect(await tokens()).toMatch(/CUSTOM__edit__b=2/);
    expect(await tokens()).not.toContain("CUSTOM__edit__a");
    expect(await problem(call("PATCH", "/edit", { config: {} }))).toEqual([400, "INVALID_REQUEST", "config"]);
    expect(await problem(call("PATCH", "/edit", { secrets: {} }))).toEqual([400, "INVALID_REQUEST", ""]);
    expect((await call("PATCH", "/edit", { config: program("no") })).body.connected).toBe(true);
    expect(await listed("edit")).toMatchObject({ credentialOwner: "none", secretNames: [] });
    // The gateway could not sign in there any more.
    expect((await call("PATCH", "/signed", { config: program("{access_token}") })).status).toBe(400);
    expect((await call("PATCH", "/none", {})).status).toBe(404);
  });

  it("take tokens that another program holds [CONN-26]", async () => {
    const config = { url: "https://a.test/mcp", headers: { Authorization: "Bearer {access_token}" } };
    const send = (id: string, more = {}) =>
      call("POST", `/${id}/oauth/receive`, { access_token: "first", label: "Received", config, ...more });
    expect(await send("received")).toEqual({ status: 200, body: { id: "received", connected: true } });
    expect(await listed("received")).toMatchObject({
      credentialOwner: "external",
      secretNames: ["access_token"],
    });
    expect((await send("received", { access_token: "second", label: "Again" })).body.connected).toBe(true);
    expect(await listed("received")).toMatchObject({ label: "Again" });
    expect(await tokens()).toContain("CUSTOM__received__access_token=second\n");
    for (const id of ["Bad_Id", "gateway", "botchat", "x".repeat(65)])
      expect((await send(id)).status, id).toBe(400);
    for (const other of [program("{access_token} {b}"), program("none"), program("{b}")]) {
      expect((await send("fresh", { config: other })).status).toBe(400);
    }
    expect((await send("plain")).status).toBe(409);
    expect((await call("POST", "/received/connect", { token: "x" })).status).toBe(400);
    await gateway.json("PATCH", "/api/v1/agents/assistant", {
      body: { connectors: { received: { enabled: true } } },
    });
    expect((await call("DELETE", "/received")).body).toEqual({ id: "received", connected: false });
    expect(await listed("received")).toBeUndefined();
    expect(await tokens()).not.toContain("received");
    expect(JSON.stringify(await gateway.config())).not.toContain("received");
  });

  it("disconnect, or remove what nothing would be left of [CONN-27]", async () => {
    await add("Static", { secrets: { token: "value" } });
    await gateway.json("PATCH", "/api/v1/agents/assistant", {
      body: { connectors: { static: { enabled: true } } },
    });
    expect((await call("DELETE", "/static?remove=false")).body).toEqual({ id: "static", connected: false });
    expect(await listed("static")).toMatchObject({ connected: false, missing: ["token"] });
    expect((await agent()).connectors.static).toEqual({ enabled: true, effective: false });
    expect((await call("DELETE", "/static?remove=maybe")).status).toBe(400);
    expect((await call("DELETE", "/static?remove=true")).status).toBe(200);
    expect(await listed("static")).toBeUndefined();
    expect(JSON.stringify(await gateway.config())).not.toContain('"static":');
    expect((await call("DELETE", "/static")).status).toBe(404);
    await add("Nothing", { config: program("x") });
    expect((await call("DELETE", "/nothing")).status).toBe(200);
    expect(await listed("nothing")).toBeUndefined();
    expect((await call("DELETE", "/signed")).body).toEqual({ id: "signed", connected: false });
    expect(await listed("signed")).toMatchObject({ connected: false });
  });

  it("are switched for an agent by an admin key, and shown in its record [CONN-28]", async () => {
    await add("Switch", { secrets: { token: "v" } });
    const patch = (connectors: object, key: string = KEYS.admin) =>
      gateway.json("PATCH", "/api/v1/agents/assistant", { key, body: { connectors } });
    expect((await agent()).connectors.switch).toEqual({ enabled: null, effective: true });
    expect((await patch({ switch: { enabled: false }, unknown: { enabled: true } })).status).toBe(200);
    expect((await agent()).connectors).toMatchObject({
      switch: { enabled: false, effective: false },
      unknown: { enabled: true, effective: false },
      broken: { enabled: null, effective: false },
    });
    expect((await agent("second")).connectors.switch).toEqual({ enabled: null, effective: true });
    await patch({ switch: null });
    expect((await agent()).connectors).toMatchObject({
      switch: { enabled: null, effective: true },
      unknown: {},
    });
    await patch({ unknown: null });
    expect((await agent()).connectors.unknown).toBeUndefined();
    expect((await patch({ switch: { enabled: true } }, KEYS.write)).status).toBe(403);
    for (const bad of [
      { "Not an id": { enabled: true } },
      { switch: { enabled: 1 } },
      { switch: true },
      [],
    ]) {
      expect((await patch(bad)).status, JSON.stringify(bad)).toBe(400);
    }
  });

  it("are told in the feed when they become connected, or no longer are [CONN-29]", async () => {
    const { id } = await add("Told");
    await call("POST", `/${id}/connect`, { token: "x" });
    await call("POST", `/${id}/connect`, { token: "y" });
    await call("DELETE", `/${id}`);
    await call("POST", `/${id}/connect`, { token: "z" });
    await call("DELETE", `/${id}?remove=true`);
    const own = async () => (await events()).filter((line) => line.endsWith(" told"));
    await expect
      .poll(own)
      .toEqual(["connected told", "disconnected told", "connected told", "disconnected told"]);
    // What was connected at the start is nothing new.
    expect(await events()).not.toContain("connected plain");
  });
});
