import type { ServerResponse } from "node:http";
import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { createStates } from "../../../packages/gateway/src/connectors/oauth/states.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";
import { CALLBACK, ownedEntry, signInRoom } from "../../fixtures/oauth-room.ts";
import { type OAuthBehaviour, type OAuthRig, startOAuth } from "../../fixtures/oauth-server.ts";

type Room = ReturnType<typeof signInRoom>;

const roomFor = (rig: OAuthRig, more: Parameters<typeof signInRoom>[1] = {}) =>
  signInRoom({ tools: ownedEntry(rig.url) }, more);

/** A whole sign-in: begins it, agrees, and brings the reply back. */
async function signIn(rig: OAuthRig, room: Room, deny?: string) {
  const { authorizeUrl } = await room.start("tools");
  const back = await rig.consent(authorizeUrl, deny);
  return { authorizeUrl: new URL(authorizeUrl), back, outcome: await room.finish(back.searchParams) };
}

const CONNECTED = { connected: "Tools" };
const html = (_: unknown, response: ServerResponse) =>
  void response.writeHead(200, { "content-type": "text/html" }).end("<h1>Hello</h1>");

describe("a sign-in to a connector", () => {
  const forms: Array<[string, Partial<OAuthBehaviour>]> = [
    ["the address in the challenge", {}],
    ["a description at the path", { described: "path" }],
    ["a description at the root", { described: "root" }],
    ["RFC 8414 for an issuer with a path", { tenant: "/tenant" }],
    ["OpenID", { published: "openid-before" }],
    ["OpenID before the path of the issuer", { published: "openid-before", tenant: "/tenant" }],
    ["OpenID behind the path of the issuer", { published: "openid-behind", tenant: "/tenant" }],
    ["a description of a server that also serves without a token", { asks: false, described: "path" }],
  ];
  it.each(forms)("finds its way by %s [OAUTH-1, OAUTH-3]", async (_, behaviour) => {
    const rig = await startOAuth(behaviour);
    const room = roomFor(rig);
    const { authorizeUrl, outcome } = await signIn(rig, room);
    expect(outcome).toEqual(CONNECTED);
    expect(rig.faults).toEqual([]);
    expect(authorizeUrl.searchParams.get("redirect_uri")).toBe(CALLBACK);
    expect(room.lines.CUSTOM__tools__access_token).toMatch(/^access-/);
  });

  it("takes the server's own origin for its authorization server when it does not describe itself [OAUTH-1]", async () => {
    const rig = await startOAuth({ described: "nowhere" });
    rig.is.issuer = new URL(rig.url).origin;
    const { outcome } = await signIn(rig, roomFor(rig));
    expect(outcome).toEqual(CONNECTED);
    expect(rig.faults).toEqual([]);
  });

  it("is not misled by a page that answers everything with HTML [OAUTH-1]", async () => {
    const rig = await startOAuth({ published: "openid-before", described: "root" });
    rig.is.instead["mcp /.well-known/oauth-protected-resource/mcp"] = (_request, response) =>
      void response.writeHead(404).end();
    rig.is.instead["auth /.well-known/oauth-authorization-server"] = html;
    expect((await signIn(rig, roomFor(rig))).outcome).toEqual(CONNECTED);
  });

  it.each(["none", "client_secret_basic", "client_secret_post"] as const)(
    "registers for %s and proves it [OAUTH-2]",
    async (clientAuth) => {
      const rig = await startOAuth({ clientAuth });
      const { outcome } = await signIn(rig, roomFor(rig));
      expect(rig.faults).toEqual([]);
      expect(outcome).toEqual(CONNECTED);
    },
  );

  it.each(["refused", "absent"] as const)(
    "takes the configured client when registration is %s, and is 502 without one [OAUTH-2, OAUTH-8]",
    async (registration) => {
      const rig = await startOAuth({ registration });
      const entries = { "my-tools": ownedEntry(rig.url) };
      await expect(signInRoom(entries).start("my-tools")).rejects.toMatchObject({
        code: "UPSTREAM_UNAVAILABLE",
        message: expect.stringContaining("MCP_OAUTH_CLIENT_ID__MY_TOOLS"),
      });
      rig.addClient("by-hand", CALLBACK);
      const room = signInRoom(entries, { env: () => ({ MCP_OAUTH_CLIENT_ID__MY_TOOLS: "by-hand" }) });
      const { authorizeUrl } = await room.start("my-tools");
      expect(await room.finish((await rig.consent(authorizeUrl)).searchParams)).toEqual(CONNECTED);
      expect(rig.faults).toEqual([]);
    },
  );

  const scopes: Array<[string, Partial<OAuthBehaviour>, Record<string, string>]> = [
    ["mine", { challengeScope: "asked" }, { MCP_OAUTH_SCOPES__TOOLS: "mine" }],
    ["asked for", { challengeScope: "asked for" }, {}],
    ["one two", { resourceScopes: ["one", "two"], serverScopes: ["three"] }, {}],
    ["three", { resourceScopes: undefined, serverScopes: ["three"] }, {}],
    ["one offline_access", { resourceScopes: ["one"], serverScopes: ["offline_access"] }, {}],
    ["offline_access", { resourceScopes: undefined }, {}],
  ];
  it.each(scopes)("asks for the scopes %s [OAUTH-4]", async (scope, behaviour, env) => {
    const rig = await startOAuth(behaviour);
    const { authorizeUrl } = await roomFor(rig, { env: () => env }).start("tools");
    expect(new URL(authorizeUrl).searchParams.get("scope")).toBe(scope);
  });

  it.each([
    [{ iss: "wrong" as const }, { code: "exchange_failed" }],
    [{ iss: "wrong" as const, promisesIss: false }, { code: "exchange_failed" }],
    [{ iss: "missing" as const }, { code: "exchange_failed" }],
    [{ iss: "missing" as const, promisesIss: false }, CONNECTED],
  ])("judges the issuer of the reply: %o [OAUTH-5]", async (behaviour, outcome) => {
    const rig = await startOAuth(behaviour);
    const room = roomFor(rig);
    expect((await signIn(rig, room)).outcome).toEqual(outcome);
    expect(rig.requests.includes("POST auth /token")).toBe(outcome === CONNECTED);
  });

  it("takes no reply with two issuers, and no error in another's name [OAUTH-5]", async () => {
    const rig = await startOAuth();
    const room = roomFor(rig);
    const doubled = await rig.consent((await room.start("tools")).authorizeUrl);
    doubled.searchParams.append("iss", "https://other.example");
    expect(await room.finish(doubled.searchParams)).toEqual({ code: "exchange_failed" });
    rig.is.iss = "wrong";
    expect((await signIn(rig, room, "access_denied")).outcome).toEqual({ code: "exchange_failed" });
  });

  it("refuses metadata in the name of another issuer, and a description of another server [OAUTH-5]", async () => {
    const rig = await startOAuth({ issuer: "https://other.example" });
    await expect(roomFor(rig).start("tools")).rejects.toMatchObject({ code: "UPSTREAM_UNAVAILABLE" });
    const other = await startOAuth({ resource: "https://other.example/mcp" });
    await expect(roomFor(other).start("tools")).rejects.toMatchObject({ code: "UPSTREAM_UNAVAILABLE" });
  });

  it("uses a state once, for ten minutes [OAUTH-6]", async () => {
    const rig = await startOAuth();
    const room = roomFor(rig);
    const { back } = await signIn(rig, room);
    const expired = { code: "expired_link" };
    expect(await room.finish(back.searchParams)).toEqual(expired);
    expect(await room.finish(new URLSearchParams())).toEqual(expired);
    const late = await rig.consent((await room.start("tools")).authorizeUrl);
    room.clock.advance(10 * 60_000);
    expect(await room.finish(late.searchParams)).toEqual(expired);
    const intime = await rig.consent((await room.start("tools")).authorizeUrl);
    room.clock.advance(10 * 60_000 - 1);
    expect(await room.finish(intime.searchParams)).toEqual(CONNECTED);
  });

  it("forgets the oldest of too many [OAUTH-6]", () => {
    const states = createStates<number>(manualClock());
    const open = Array.from({ length: 201 }, (_, at) => states.add(at));
    expect(states.take(open[0]!)).toBeUndefined();
    expect(states.take(open[1]!)).toBe(1);
    expect(states.take(open[200]!)).toBe(200);
  });

  it("goes on beside another one; who ends last is who is signed in [OAUTH-6]", async () => {
    const rig = await startOAuth();
    const room = roomFor(rig);
    const starts = await Promise.all([room.start("tools"), room.start("tools")]);
    const [first, second] = await Promise.all(starts.map(({ authorizeUrl }) => rig.consent(authorizeUrl)));
    expect(await room.finish(second!.searchParams)).toEqual(CONNECTED);
    const before = room.lines.CUSTOM__tools__access_token;
    expect(await room.finish(first!.searchParams)).toEqual(CONNECTED);
    expect(room.lines.CUSTOM__tools__access_token).not.toBe(before);
    expect(rig.faults).toEqual([]);
  });

  it("says what the provider said, as far as it is a code [OAUTH-9]", async () => {
    const rig = await startOAuth();
    const room = roomFor(rig);
    const provider = true;
    expect((await signIn(rig, room, "access_denied")).outcome).toEqual({ code: "access_denied", provider });
    expect((await signIn(rig, room, "<script>")).outcome).toEqual({ code: "provider_error", provider });
    const back = await rig.consent((await room.start("tools")).authorizeUrl);
    back.searchParams.delete("code");
    expect(await room.finish(back.searchParams)).toEqual({ code: "missing_code" });
    rig.is.iss = "missing";
    expect((await signIn(rig, room, "access_denied")).outcome).toEqual({ code: "access_denied", provider });
    expect(room.lines).toEqual({});
  });

  const changes: Array<[string, (entries: Record<string, unknown>) => void]> = [
    ["is removed", (entries) => delete entries.tools],
    ["has another address", (entries) => (entries.tools = ownedEntry("https://other.example/mcp"))],
    [
      "is no longer the gateway's",
      (entries) => (entries.tools = { ...(entries.tools as object), credentialOwner: "static" }),
    ],
  ];
  it.each(changes)(
    "leaves nothing when the connector %s before or during the exchange [OAUTH-7]",
    async (_, change) => {
      const rig = await startOAuth();
      const gone = { code: "connector_gone" };
      const early = roomFor(rig);
      const back = await rig.consent((await early.start("tools")).authorizeUrl);
      change(early.entries);
      expect(await early.finish(back.searchParams)).toEqual(gone);
      expect(rig.requests).not.toContain("POST auth /token");

      const late = roomFor(rig);
      const { authorizeUrl } = await late.start("tools");
      rig.is.instead["auth /token"] = (_request, response) => {
        change(late.entries);
        response
          .writeHead(200, { "content-type": "application/json" })
          .end('{"access_token":"late-token","token_type":"Bearer"}');
      };
      expect(await late.finish((await rig.consent(authorizeUrl)).searchParams)).toEqual(gone);
      expect(late.lines).toEqual({});
    },
  );

  const answers: Array<[string, (response: ServerResponse) => void]> = [
    ["an error", (r) => r.writeHead(400).end('{"error":"invalid_grant"}')],
    ["an error with status 200", (r) => r.writeHead(200).end('{"error":"bad_verification_code"}')],
    ["trouble of its own", (r) => r.writeHead(503).end("later")],
    ["a page", (r) => r.writeHead(200).end("<h1>Hello</h1>")],
    ["no token", (r) => r.writeHead(200).end('{"token_type":"Bearer"}')],
    ["a token of another type", (r) => r.writeHead(200).end('{"access_token":"t","token_type":"mac"}')],
    [
      "a token with a line break",
      (r) => r.writeHead(200).end('{"access_token":"a\\nb","token_type":"Bearer"}'),
    ],
    ["more than 1 MiB", (r) => r.writeHead(200).end(`{"access_token":"${"x".repeat(1024 * 1024)}"}`)],
    ["a closed connection", (r) => r.destroy()],
    ["a redirect to a GET", (r) => r.writeHead(302, { location: "/token2" }).end()],
    ["a redirect elsewhere", (r) => r.writeHead(307, { location: "http://127.0.0.1:1/" }).end()],
  ];
  it.each(answers)("fails when the token endpoint answers with %s [OAUTH-9, OAUTH-11]", async (_, answer) => {
    const rig = await startOAuth();
    rig.is.instead["auth /token"] = (_request, response) => answer(response);
    const room = roomFor(rig);
    expect((await signIn(rig, room)).outcome).toEqual({ code: "exchange_failed" });
    expect(room.lines).toEqual({});
  });

  it("waits ten seconds for an answer that never comes [OAUTH-11]", async () => {
    const rig = await startOAuth();
    const room = roomFor(rig);
    const { authorizeUrl } = await room.start("tools");
    const back = await rig.consent(authorizeUrl);
    rig.is.instead["auth /token"] = () => room.clock.advance(10_000);
    expect(await room.finish(back.searchParams)).toEqual({ code: "exchange_failed" });
    rig.is.instead["mcp /mcp"] = () => room.clock.advance(10_000);
    await expect(room.start("tools")).rejects.toMatchObject({
      code: "UPSTREAM_UNAVAILABLE",
      message: "The connector's server did not answer within 10 seconds.",
    });
  });

  const troubles: Array<[string, Partial<OAuthBehaviour>]> = [
    ["asks for no sign-in", { asks: false, described: "nowhere" }],
    ["publishes no metadata", { published: "nowhere" }],
    ["named an address that is not public", { tokenEndpoint: "http://169.254.169.254/token" }],
    ["named an address that is not https", { tokenEndpoint: "ftp://127.0.0.1/token" }],
  ];
  it.each(troubles)("is 502 when a server %s [OAUTH-8, OAUTH-10]", async (message, behaviour) => {
    const rig = await startOAuth(behaviour);
    await expect(roomFor(rig).start("tools")).rejects.toMatchObject({
      code: "UPSTREAM_UNAVAILABLE",
      message: expect.stringContaining(message),
    });
  });

  it("refuses connectors that it cannot sign in to [OAUTH-8]", async () => {
    const url = "https://mcp.example/mcp";
    const room = signInRoom({
      pasted: { ...ownedEntry(url), credentialOwner: "static" },
      missing: ownedEntry("https://{host}.example/mcp"),
      tools: ownedEntry(url),
    });
    await expect(room.start("nothing")).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(room.start("constructor")).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(room.start("pasted")).rejects.toMatchObject({ code: "INVALID_REQUEST" });
    const inside = signInRoom({ tools: ownedEntry(url) }, { callback: () => undefined });
    await expect(inside.start("tools")).rejects.toMatchObject({ code: "UNAVAILABLE" });
  });

  it("judges what the servers name by the connector's host [OAUTH-10]", async () => {
    const rig = await startOAuth();
    const port = new URL(rig.url).port;
    // Public by its name, so that the owner's own address is all that may be reached of this machine.
    const entries = { tools: ownedEntry(`http://tools.example:${port}/mcp`) };
    const lookup = ((_name: string, _options: unknown, done: (error: null, all: unknown[]) => void) =>
      done(null, [{ address: "127.0.0.1", family: 4 }])) as never;
    rig.is.resource = entries.tools.config!.url as string;
    const room = signInRoom(entries, { lookup });
    await expect(room.start("tools")).rejects.toMatchObject({
      message: "The connector's server named an address that is not https.",
    });
    rig.is.described = "path";
    await expect(room.start("tools")).rejects.toMatchObject({
      message: "The authorization server named an address that is not https.",
    });
    expect(rig.requests.filter((request) => request.includes("auth"))).toEqual([
      "GET mcp /.well-known/oauth-protected-resource/mcp",
    ]);
  });

  it("sends no secret of the connector's address away, and no token that is there already [OAUTH-3, OAUTH-14]", async () => {
    const rig = await startOAuth({ described: "nowhere" });
    rig.is.issuer = new URL(rig.url).origin;
    const config = { headers: { "x-tenant": "{tenant}", authorization: "Bearer {access_token}" } };
    const room = signInRoom({ tools: ownedEntry(`${rig.url}?key={tenant}`, config) });
    room.lines.CUSTOM__tools__tenant = "the-tenant";
    room.lines.CUSTOM__tools__access_token = "an-old-token";
    const seen: unknown[] = [];
    rig.is.instead["mcp /mcp"] = ({ headers }, response) => {
      seen.push([headers["x-tenant"], headers.authorization]);
      response.writeHead(401).end();
    };
    const { authorizeUrl } = await room.start("tools");
    expect(seen).toEqual([["the-tenant", undefined]]);
    expect(new URL(authorizeUrl).searchParams.get("resource")).toBe(rig.url);
    expect(authorizeUrl).not.toContain("the-tenant");
  });

  it("names every secret to the log's mask, and says none of them [OAUTH-14]", async () => {
    const rig = await startOAuth({ clientAuth: "client_secret_post" });
    const room = roomFor(rig);
    const { back } = await signIn(rig, room);
    rig.is.instead["auth /token"] = (_request, response) =>
      void response
        .writeHead(400)
        .end(JSON.stringify({ error: "it was s3cr3t", error_description: "s3cr3t" }));
    await signIn(rig, room);
    const book = JSON.parse(room.lines.CUSTOMINT__tools__oauth!) as {
      grant: { refreshToken: string; client: { secret: string } };
    };
    const known = [book.grant.refreshToken, book.grant.client.secret, back.searchParams.get("code")!];
    for (const value of [...known, room.lines.CUSTOM__tools__access_token!]) {
      expect(room.secrets).toContain(value);
    }
    expect(room.said.length).toBe(2);
    expect(inspect(room.said, { depth: null })).not.toContain("s3cr3t");
  });
});
