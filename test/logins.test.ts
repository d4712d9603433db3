import { expect, it } from "vitest";
import { type Gateway, KEYS, readFrames, startGateway } from "./harness.ts";

/** The token of a fresh login. */
async function logIn(gateway: Gateway, key: string = KEYS.admin): Promise<string> {
  const response = await gateway.request("POST", "/dashboard/login", { key: null, body: { key } });
  expect(response.status).toBe(200);
  return /agent_gateway_session_\d+=([^;]+)/.exec(response.headers.get("set-cookie")!)![1]!;
}
const cookie = (gateway: Gateway, token: string) => ({
  Cookie: `agent_gateway_session_${new URL(gateway.url).port}=${token}`,
});
const asked = async (gateway: Gateway, token: string) => {
  const headers = cookie(gateway, token);
  const { body } = await gateway.json("GET", "/dashboard/session", { key: null, headers });
  return body.authenticated;
};

it("does not ask for the key again after a restart or a crash, unless the login was ended [LOGIN-1]", async () => {
  let gateway = await startGateway();
  const { home } = gateway;
  const [kept, ended] = [await logIn(gateway), await logIn(gateway)];
  const headers = cookie(gateway, ended);
  const logout = await gateway.request("POST", "/dashboard/logout", { key: null, headers });
  expect(logout.status).toBe(204);

  await gateway.kill();
  gateway = await startGateway({ home });
  expect(await asked(gateway, kept)).toBe(true);
  expect(await asked(gateway, ended)).toBe(false);
  const agents = { key: null, headers: cookie(gateway, kept) };
  expect((await gateway.request("GET", "/api/v1/agents", agents)).status).toBe(200);

  const config = (await gateway.config()) as { gateway: { api: { keys: Array<{ key: string }> } } };
  const keys = config.gateway.api.keys;
  config.gateway.api.keys = keys.filter(({ key }) => key !== KEYS.admin);
  await gateway.writeConfig(config);
  await gateway.stop();
  gateway = await startGateway({ home });
  expect(await asked(gateway, kept)).toBe(false);
  config.gateway.api.keys = keys;
  await gateway.writeConfig(config);
  await gateway.stop();
  await using last = await startGateway({ home });
  expect(await asked(last, kept)).toBe(false);
});

it("ends the streams of a login that is ended, and no others [LOGIN-3]", async () => {
  await using gateway = await startGateway();
  const follow = async (token: string) => {
    const headers = cookie(gateway, token);
    const response = await gateway.request("GET", "/api/v1/events", { key: null, headers });
    expect(response.status).toBe(200);
    const codes = async () => {
      const found: unknown[] = [];
      for await (const { data } of readFrames(response)) if (data.type === "error") found.push(data.code);
      return found;
    };
    return { ended: codes() };
  };
  const [leaving, staying] = [await logIn(gateway), await logIn(gateway)];
  const [left, stayed] = [await follow(leaving), await follow(staying)];
  await gateway.request("POST", "/dashboard/logout", { key: null, headers: cookie(gateway, leaving) });
  expect(await left.ended).toEqual(["API_KEY_INVALID"]);
  await gateway.stop();
  expect(await stayed.ended).toEqual([]);
});
