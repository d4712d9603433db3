import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { GatewayError } from "@agent-gateway/contract";
import { expect, it } from "vitest";
import type { AgentConfig } from "../../../packages/gateway/src/config/index.ts";
import { silentLogger } from "../../../packages/gateway/src/lib/logger.ts";
import { createGreeter } from "../../../packages/gateway/src/sessions/greeting.ts";
import type { Turn } from "../../../packages/gateway/src/sessions/index.ts";
import type { SessionRow } from "../../../packages/gateway/src/store/index.ts";
import { tempFolder } from "../../fixtures/temp-home.ts";

/** An agent with a greeting; `start` says what becomes of the greeting's turn, and `reserved` of the session before. */
async function rig(start: () => Partial<Turn>, reserved = (_time: number): void => {}) {
  const workspace = await tempFolder();
  const file = join(workspace, "GREETING.md");
  await writeFile(file, "Say hello.");
  const agent = { id: "a", workspace } as AgentConfig;
  const texts: string[] = [];
  const greet = createGreeter(
    { log: silentLogger },
    {
      start({ text }) {
        texts.push(text);
        return start() as Turn;
      },
    },
  );
  let times = 0;
  return {
    texts,
    left: () => readFile(file, "utf8").catch(() => undefined),
    greet: () =>
      greet({
        agent,
        requestId: "r",
        softMs: 1000,
        keyId: null,
        async reserve(act) {
          reserved(++times);
          return act({ uuid: "s" } as SessionRow);
        },
      }),
  };
}
const refusal = (code: "CAPACITY" | "SESSION_BUSY") => () => {
  throw new GatewayError(code);
};

it("a greeting is told once, and its file is gone [GREET-1]", async () => {
  const { greet, left, texts } = await rig(() => ({ started: Promise.resolve() }));
  expect(await greet()).toBeDefined();
  expect(await greet()).toBeUndefined();
  expect(texts).toEqual(["Say hello."]);
  expect(await left()).toBeUndefined();
});

it("a greeting that finds no place keeps its file [GREET-3]", async () => {
  const { greet, left } = await rig(refusal("CAPACITY"));
  await expect(greet()).rejects.toMatchObject({ code: "CAPACITY" });
  expect(await left()).toBe("Say hello.");
});

it("a greeting whose session is taken while it waits for its turn keeps its file [GREET-3]", async () => {
  const busy = refusal("SESSION_BUSY");
  const { greet, left, texts } = await rig(
    () => ({ started: Promise.resolve() }),
    (time) => time === 2 && busy(),
  );
  await expect(greet()).rejects.toMatchObject({ code: "SESSION_BUSY" });
  expect(await left()).toBe("Say hello.");
  expect(texts).toEqual([]);
});

it("a greeting whose turn could not be stored has its file again [GREET-3]", async () => {
  let works = false;
  const { greet, left } = await rig(() => {
    const started = works ? Promise.resolve() : Promise.reject(new Error("disk full"));
    started.catch(() => {});
    return { started };
  });
  await expect(greet()).rejects.toThrow("disk full");
  expect(await left()).toBe("Say hello.");
  works = true;
  expect(await greet()).toBeDefined();
  expect(await left()).toBeUndefined();
});
