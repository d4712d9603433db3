import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runCli } from "./fixtures/cli.ts";
import { type OAuthRig, startOAuth } from "./fixtures/oauth-server.ts";
import { type Gateway, KEYS, startGateway, testConfig, until } from "./harness.ts";

const START = "/api/v1/connectors/custom/tools/oauth/start";

/** A connector whose tokens the gateway holds, and one whose secret is pasted. */
const connectors = ({ url }: Pick<OAuthRig, "url">) => ({
  customConnectors: {
    tools: {
      label: "Tools & <more>",
      credentialOwner: "gateway",
      secretNames: ["access_token"],
      config: { type: "http", url, headers: { Authorization: "Bearer {access_token}" } },
    },
    pasted: {
      credentialOwner: "static",
      config: { url, headers: { Authorization: "Bearer {access_token}" } },
    },
  },
});

async function begin(gateway: Gateway): Promise<string> {
  const { status, body } = await gateway.json("POST", START);
  expect(status, JSON.stringify(body)).toBe(200);
  return body.authorizeUrl as string;
}

const tokenLines = (gateway: Gateway) =>
  readFile(join(gateway.home, "mcp-token.env"), "utf8").catch(() => "");

const tokenOf = async (gateway: Gateway) =>
  /^CUSTOM__tools__access_token=(.*)$/m.exec(await tokenLines(gateway))?.[1];

describe("the sign-in to a connector", () => {
  it("gives the agent the connector's tools, and says how each sign-in ended [OAUTH-8, OAUTH-9, OAUTH-14, OAUTH-15]", async () => {
    const rig = await startOAuth();
    await using gateway = await startGateway({
      gateway: { ...connectors(rig), logs: { level: "debug" } },
      env: { MCP_OAUTH_SCOPES__TOOLS: "from-environment" },
    });
    const visit = async (back: URL, method = "GET") => {
      const reply = await fetch(back, { method, redirect: "manual" });
      return { status: reply.status, type: reply.headers.get("content-type"), page: await reply.text() };
    };
    const authorizeUrl = await begin(gateway);
    expect(new URL(authorizeUrl).searchParams.get("scope")).toBe("from-environment");
    const back = await rig.consent(authorizeUrl);
    expect(`${back.origin}${back.pathname}`).toBe(`${gateway.url}/oauth/mcp/callback`);
    expect((await visit(back, "HEAD")).status).toBe(400);
    const done = await visit(back);
    expect(done).toMatchObject({ status: 200, type: "text/html; charset=utf-8" });
    expect(done.page).toContain("Tools &#38; &#60;more&#62; is connected.");
    const { body } = await gateway.send('SERVER tools echo {"text":"hi"}');
    expect(body.response).toBe("Server: echo hi");
    expect((await stat(join(gateway.home, "mcp-token.env"))).mode & 0o777).toBe(0o600);

    const again = await visit(back);
    expect(again).toMatchObject({ status: 400, page: expect.stringContaining("expired_link") });
    const denied = await visit(await rig.consent(await begin(gateway), "access_denied"));
    expect(denied).toMatchObject({ status: 400, page: expect.stringContaining("access_denied") });
    rig.is.iss = "wrong";
    const failed = await visit(await rig.consent(await begin(gateway)));
    expect(failed).toMatchObject({ status: 502, page: expect.stringContaining("exchange_failed") });
    rig.is.iss = "right";

    const refusals = [
      ["/api/v1/connectors/custom/nothing/oauth/start", 404, "NOT_FOUND"],
      ["/api/v1/connectors/custom/pasted/oauth/start", 400, "INVALID_REQUEST"],
    ] as const;
    for (const [path, status, code] of refusals) {
      expect(await gateway.json("POST", path)).toMatchObject({ status, body: { code } });
    }
    expect(await gateway.json("POST", START, { body: { more: 1 } })).toMatchObject({ status: 400 });
    rig.is.registration = "refused";
    const refused = await gateway.json("POST", START);
    expect(refused).toMatchObject({ status: 502, body: { code: "UPSTREAM_UNAVAILABLE" } });
    rig.is.registration = "open";

    const late = await rig.consent(await begin(gateway));
    const config = testConfig({
      gateway: { ...connectors({ url: `${rig.url}/other` }), logs: { level: "debug" } },
    });
    await gateway.writeConfig(config);
    // The tokens for the old address go with it.
    await until(async () => (await tokenOf(gateway)) === undefined, "the tokens to go");
    expect(await visit(late)).toMatchObject({ status: 409, page: expect.stringContaining("connector_gone") });
    expect(await tokenLines(gateway)).not.toContain("tools");

    expect(rig.faults).toEqual([]);
    expect(gateway.output()).not.toMatch(/access-[0-9a-f]{24}|refresh-[0-9a-f]{24}/);
    expect(gateway.output()).not.toContain(back.searchParams.get("code"));
  });

  it("leaves no half of itself when the gateway is killed in its midst, and goes on after [OAUTH-6, OAUTH-12, OAUTH-13]", async () => {
    const rig = await startOAuth({ expiresIn: 60, clientAuth: "client_secret_basic" });
    const first = await startGateway({ gateway: connectors(rig) });
    const { home } = first;
    expect((await fetch(await rig.consent(await begin(first)))).status).toBe(200);
    const before = await tokenLines(first);
    const hanging = await rig.consent(await begin(first));
    const asked = new Promise<void>((resolve) => {
      rig.is.instead["auth /token"] = () => resolve();
    });
    const cut = fetch(hanging).catch(() => "cut off");
    await asked;
    await first.kill();
    expect(await cut).toBe("cut off");
    expect(await tokenLines(first)).toBe(before);

    // The token ends within five minutes, so the sweep at the start refreshes it; the network fails first.
    rig.is.instead["auth /token"] = (_request, response) => void response.writeHead(503).end();
    const second = await startGateway({ home });
    await until(async () => /"failures":1/.test(await tokenLines(second)), "the first attempt");
    const moved = new URL(hanging);
    moved.port = new URL(second.url).port;
    const over = await fetch(moved);
    expect(over.status).toBe(400);
    expect(await over.text()).toContain("expired_link");
    await second.stop();

    // A refresh that failed waits, whoever starts meanwhile; a sign-in does not.
    delete rig.is.instead["auth /token"];
    await using third = await startGateway({ home });
    expect((await fetch(await rig.consent(await begin(third)))).status).toBe(200);
    const signedIn = await tokenLines(third);
    expect(signedIn).not.toContain("failures");
    await third.stop();
    await using fourth = await startGateway({ home });
    await until(
      async () => (await tokenOf(fourth)) !== /access_token=(.*)/.exec(signedIn)?.[1],
      "the refresh",
    );
    expect(await tokenLines(fourth)).not.toContain("failures");
    expect(rig.faults).toEqual([]);
  });

  it("comes back below the public address and ends where the owner wants [OAUTH-9]", async () => {
    const rig = await startOAuth();
    await using gateway = await startGateway({
      gateway: {
        ...connectors(rig),
        publicUrl: "https://gateway.example/gateway",
        oauthReturnUrl: "https://app.example/done?kept=1#there",
      },
    });
    const visit = async (back: URL) => {
      const reply = await fetch(`${gateway.url}${back.pathname}${back.search}`, { redirect: "manual" });
      return [reply.status, reply.headers.get("location")];
    };
    const env = { GATEWAY_URL: gateway.url, GATEWAY_API_KEY: KEYS.admin };
    const { code, stdout } = await runCli(["connectors", "login", "tools"], { env });
    expect(code).toBe(0);
    const back = await rig.consent(/https?:\/\/[^\s"]+\/authorize[^\s"]*/.exec(stdout)![0]);
    expect(back.href).toMatch(/^https:\/\/gateway\.example\/gateway\/oauth\/mcp\/callback\?/);
    expect(await visit(back)).toEqual([302, "https://app.example/done?kept=1#there"]);
    const failed = (code: string) => [
      302,
      `https://app.example/done?kept=1&connector_oauth_error=${code}#there`,
    ];
    expect(await visit(back)).toEqual(failed("expired_link"));
    expect(await visit(await rig.consent(await begin(gateway), "access_denied"))).toEqual(
      failed("access_denied"),
    );
    expect(await visit(await rig.consent(await begin(gateway), "Not+A+Code"))).toEqual(
      failed("provider_error"),
    );
    expect(rig.faults).toEqual([]);
  });
});
