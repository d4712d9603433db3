import { expect, it } from "vitest";
import { postgresStore, withoutPostgres } from "./fixtures/postgres.ts";
import { KEYS, startGateway } from "./harness.ts";

it.skipIf(withoutPostgres())(
  "a reader of one gateway is told what happens at another one on its store [EVENT-17]",
  async () => {
    const gateway = { store: await postgresStore() };
    await using first = await startGateway({ gateway });
    const abort = new AbortController();
    const path = `${first.url}/api/v1/events?types=gateway.started`;
    const { body } = await fetch(path, { headers: { "x-api-key": KEYS.admin }, signal: abort.signal });
    await using _second = await startGateway({ gateway });
    const reader = body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    while (!text.includes("gateway.started")) {
      const { value, done } = await reader.read();
      expect(done).toBe(false);
      text += value;
    }
    abort.abort();
  },
  30_000,
);
