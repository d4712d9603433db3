import { expect, test } from "vitest";
import { childEnvironment } from "../../../packages/gateway/src/lib/shared-env.ts";

const host = {
  PATH: "/bin",
  HOME: "/home/u",
  LC_ALL: "C",
  XDG_RUNTIME_DIR: "/run",
  HTTPS_PROXY: "http://proxy",
  GATEWAY_ADMIN_KEY: "secret",
  GATEWAY_HOME: "/gw",
  ASSISTANT_BOT_TOKEN: "secret",
  MODELS_API_KEY: "secret",
  ANTHROPIC_API_KEY: "provider",
  CLAUDE_CONFIG_DIR: "/home/u/.claude",
  CLAUDE_CODE_SSE_PORT: "1",
  CLAUDE_CODE_ENTRYPOINT: "cli",
  OPENAI_API_KEY: "provider",
  EMPTY: undefined,
};

test("a child gets a minimal allow-list: no keys or tokens of the gateway", () => {
  expect(childEnvironment(host)).toEqual({
    PATH: "/bin",
    HOME: "/home/u",
    LC_ALL: "C",
    XDG_RUNTIME_DIR: "/run",
    HTTPS_PROXY: "http://proxy",
  });
});

test("provider settings go only to the programs that use them, and the agent's env wins", () => {
  const env = childEnvironment(host, { HOME: "/agent", MY_VAR: "1" }, { families: ["anthropic"] });
  expect(env).toMatchObject({
    ANTHROPIC_API_KEY: "provider",
    CLAUDE_CONFIG_DIR: "/home/u/.claude",
    HOME: "/agent",
    MY_VAR: "1",
  });
  expect(env).not.toHaveProperty("OPENAI_API_KEY");
  expect(env).not.toHaveProperty("CLAUDE_CODE_SSE_PORT");
  expect(env).not.toHaveProperty("CLAUDE_CODE_ENTRYPOINT");
});
