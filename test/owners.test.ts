import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { postgresStore, withoutPostgres } from "./fixtures/postgres.ts";
import { type Gateway, type GatewayOptions, startGateway, testConfig, until } from "./harness.ts";

type Json = Record<string, unknown>;

/** Gateways with homes of their own, on one schema, whose agents have the same workspaces. */
async function rig({ leaseMs = 5_000 } = {}) {
  const store = await postgresStore();
  const workspaces = await mkdtemp(join(tmpdir(), "agent-gateway-workspaces-"));
  onTestFinished(() => rm(workspaces, { recursive: true, force: true, maxRetries: 5 }));
  const config = () => {
    const made = testConfig({ gateway: { store, cluster: { leaseMs } } }) as {
      gateway: Json;
      agents: Array<{ id: string; workspace?: string }>;
    };
    for (const agent of made.agents) agent.workspace = join(workspaces, agent.id);
    return made;
  };
  return {
    workspaces,
    async start(options: GatewayOptions = {}): Promise<Gateway> {
      const gateway = await startGateway({ config: config(), ...options });
      onTestFinished(() => gateway[Symbol.asyncDispose]());
      return gateway;
    },
  };
}

const say = (gateway: Gateway, agent: string, message: string, extra: Json = {}) =>
  gateway.json("POST", `/api/v1/agents/${agent}/messages`, {
    body: { message, chat_id: "me", ...extra },
  });

it.skipIf(withoutPostgres())(
  "a second gateway answers 503 for what the first owns, and takes it when the first is killed [OWN-3, OWN-4]",
  async () => {
    const { start } = await rig();
    const first = await start();
    const second = await start();
    expect((await say(first, "assistant", "hello")).status).toBe(200);
    const refused = await say(second, "assistant", "hello");
    expect(refused).toMatchObject({ status: 503, body: { code: "UNAVAILABLE" } });
    expect(refused.headers.get("retry-after")).toMatch(/^\d+$/);
    await first.kill();
    await until(
      async () => (await say(second, "assistant", "and now?")).status === 200,
      "the takeover",
      20_000,
    );
  },
);
