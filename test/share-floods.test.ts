import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { rowsOf } from "./fixtures/rows.ts";
import { type Gateway, put, startGateway } from "./harness.ts";

const CALLS = 10_000;
/** Files of one reply. */
const MOST = 200;

let gateway: Gateway;
let agent: string;
beforeAll(async () => {
  gateway = await startGateway({ gateway: { publicUrl: "https://gateway.example.org/gateway" } });
  agent = join(gateway.home, "agents/assistant");
  await put(agent, "workspace/same.txt", "the same");
  for (let n = 0; n < 2 * MOST; n++) await put(agent, `workspace/${n}.txt`, `file ${n}`);
});
afterAll(() => gateway[Symbol.asyncDispose]());

const copies = async () =>
  (await readdir(join(agent, "media"), { recursive: true, withFileTypes: true }).catch(() => [])).filter(
    (entry) => entry.isFile(),
  ).length;
const links = () => Number(rowsOf(gateway, "SELECT count(*) AS n FROM shares")[0]!.n);

/** The other agent answers until this is over. */
async function whileOthersAnswer<T>(work: Promise<T>): Promise<T> {
  let over = false;
  const watched = work.finally(() => {
    over = true;
  });
  watched.catch(() => {});
  let session: unknown;
  while (!over) {
    const began = performance.now();
    const { status, body } = await gateway.json("POST", "/api/v1/agents/second/messages", {
      body: { message: "SAY here", chat_id: "other", ...(session !== undefined && { session_id: session }) },
    });
    expect([status, body.response]).toEqual([200, "here"]);
    expect(performance.now() - began).toBeLessThan(5_000);
    session = body.session_id;
    await pause(20);
  }
  return watched;
}

describe(`${CALLS} calls of share_file in one turn`, () => {
  it.each([
    ["for one file", "same.txt"],
    ["for many files", "#.txt"],
    ["for names of 100 KB", "@"],
    ["for a file that is not there", "none-#.txt"],
  ])(
    "%s leave a bounded number of files and links, and the others are answered [SHARE-8]",
    async (_, path) => {
      const [files, minted] = [await copies(), links()];
      const began = performance.now();
      const { status, body } = await whileOthersAnswer(
        gateway.send(`SHAREFLOOD ${CALLS} ${path}`, { timeout_ms: 60_000 }),
      );
      expect(status, JSON.stringify(body)).toBe(200);
      const shared = Number(/Shared (\d+)\./.exec(String(body.response))![1]);
      expect(performance.now() - began).toBeLessThan(40_000);
      expect((await copies()) - files).toBe(shared);
      expect(links() - minted).toBe(shared);
      expect(shared).toBeLessThanOrEqual(MOST);
      if (path === "same.txt") expect(shared).toBeGreaterThan(0);
      else if (path !== "#.txt") expect(shared).toBe(0);
    },
    90_000,
  );

  it("one after another stop at the number of files that a reply may have [SHARE-8]", async () => {
    const before = await copies();
    const { body } = await gateway.send(`SHAREONE ${MOST + 20} #.txt`, { timeout_ms: 60_000 });
    expect(body.response).toBe(`Shared ${MOST}.`);
    expect(body.attachments).toHaveLength(MOST);
    expect((await copies()) - before).toBe(MOST);
  }, 90_000);
});
