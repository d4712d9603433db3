import { describe, expect, it } from "vitest";
import { allFrames, KEYS, startGateway, testConfig, until } from "./harness.ts";

describe("a key that is taken away", () => {
  it("loses its open stream and its waiting request; the turns go on [EDGE-5]", async () => {
    await using gateway = await startGateway({ agentArgs: [] });
    const body = { message: "SLOW 20 100", chat_id: "me" };
    const path = "/api/v1/agents/assistant/messages";
    const stream = await gateway.request("POST", path, { key: KEYS.plain, body: { ...body, stream: true } });
    const waiting = gateway.json("POST", path, { key: KEYS.plain, body: { ...body, chat_id: "other" } });
    await until(
      async () =>
        /live_sessions\{agent="assistant",state="busy"\} 2/.test(
          await (await gateway.request("GET", "/metrics")).text(),
        ),
      "both turns",
    );
    const config = testConfig() as { gateway: { api: { keys: { key: string }[] } } };
    config.gateway.api.keys = config.gateway.api.keys.filter(({ key }) => key !== KEYS.plain);
    await gateway.writeConfig(config);
    const frames = await allFrames(stream);
    expect(frames.at(-2)?.data).toMatchObject({ type: "error", code: "API_KEY_INVALID" });
    expect(frames.at(-1)?.data).toEqual({ type: "[DONE]" });
    expect(await waiting).toMatchObject({ status: 403, body: { code: "API_KEY_INVALID" } });
    await until(async () => {
      const { body } = await gateway.json("GET", "/api/v1/agents/assistant/chats/api-me/messages");
      return (body.messages as unknown[]).length === 2;
    }, "the reply in the history");
  });
});
