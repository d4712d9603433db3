import { describe, expect, it } from "vitest";
import { createAppOAuth } from "../../../packages/gateway/src/app-oauth.ts";
import type { ConfigStore } from "../../../packages/gateway/src/config/index.ts";
import type { RequestContext } from "../../../packages/gateway/src/http/endpoint.ts";
import { silentLogger } from "../../../packages/gateway/src/lib/logger.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";
import { memoryFile, ownedEntry } from "../../fixtures/oauth-room.ts";
import { startOAuth } from "../../fixtures/oauth-server.ts";

describe("the address that a sign-in comes back to", () => {
  it.each([
    [{ bind: "127.0.0.1" }, "http://127.0.0.1:4242/oauth/mcp/callback"],
    [{ bind: "localhost" }, "http://127.0.0.1:4242/oauth/mcp/callback"],
    [{ bind: "::1" }, "http://[::1]:4242/oauth/mcp/callback"],
    [
      { bind: "0.0.0.0", publicUrl: "https://gateway.example/gateway" },
      "https://gateway.example/gateway/oauth/mcp/callback",
    ],
    [{ bind: "0.0.0.0" }, undefined],
    [{ bind: "192.168.1.5" }, undefined],
  ])("is one that a browser can reach, for %o [OAUTH-8, OAUTH-9]", async (gateway, address) => {
    const rig = await startOAuth();
    const customConnectors = { tools: ownedEntry(rig.url) };
    const { endpoints } = createAppOAuth({
      store: { current: { gateway: { ...gateway, customConnectors } } } as unknown as ConfigStore,
      paths: { home: "/nonexistent" } as never,
      env: {},
      file: memoryFile().file,
      port: () => 4242,
      node: "local",
      onSecret() {},
      clock: manualClock(),
      log: silentLogger,
    });
    const start = endpoints.find(({ decl }) => decl.method === "POST")!;
    const { signal } = new AbortController();
    const reply = Promise.resolve(
      start.handler({ params: { id: "tools" }, signal } as unknown as RequestContext),
    );
    if (address === undefined) {
      await expect(reply).rejects.toMatchObject({ code: "UNAVAILABLE" });
      expect(rig.requests).toEqual([]);
      return;
    }
    const { json } = (await reply) as { json: { authorizeUrl: string } };
    expect(new URL(json.authorizeUrl).searchParams.get("redirect_uri")).toBe(address);
  });
});
