import { describe, expect, it } from "vitest";
import { UnreachableError } from "../../../packages/gateway/src/connectors/oauth/guarded-fetch.ts";
import { RefusedError, requestTokens } from "../../../packages/gateway/src/connectors/oauth/token.ts";

const ask = (status: number, body: unknown) =>
  requestTokens(async () => new Response(JSON.stringify(body), { status }), {
    endpoint: "https://auth.example/token",
    client: { id: "c", method: "none" },
    params: {},
  });

describe("the answer of a token endpoint", () => {
  it("is a refusal only where the server has judged the request [OAUTH-13]", async () => {
    const refusals = [
      [400, "invalid_grant"],
      [401, "invalid_client"],
      [403, "access_denied"],
      [200, "bad_refresh_token"],
    ] as const;
    for (const [status, error] of refusals) {
      await expect(ask(status, { error }), error).rejects.toThrow(RefusedError);
    }
    const passing = [
      [404, "not_found"],
      [429, "invalid_grant"],
      [500, "invalid_grant"],
      [400, "temporarily_unavailable"],
      [400, "slow_down"],
    ] as const;
    for (const [status, error] of passing) {
      await expect(ask(status, { error }), `${status} ${error}`).rejects.toThrow(UnreachableError);
    }
  });

  it("tells a life that can be counted, or none [OAUTH-12]", async () => {
    const life = async (expires_in: unknown) =>
      (await ask(200, { access_token: "t", token_type: "Bearer", expires_in })).life;
    expect(await life(3600)).toBe(3600);
    expect(await life("3600")).toBe(3600);
    expect(await life(1e300)).toBe(315_360_000);
    for (const odd of [-1, "soon", {}, undefined]) expect(await life(odd), String(odd)).toBeUndefined();
  });
});
