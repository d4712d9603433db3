import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createLineSplitter } from "../../../../packages/gateway/src/lib/jsonl.ts";
import {
  createRpcPeer,
  type RpcAnswer,
  type RpcOptions,
} from "../../../../packages/gateway/src/runtimes/acp/json-rpc.ts";
import { manualClock } from "../../../fixtures/manual-clock.ts";

interface Message {
  id?: number | string;
  method?: string;
  params?: Record<string, unknown>;
  result?: unknown;
  error?: { code: number };
}

function peer(over: Partial<RpcOptions> = {}) {
  const written: Message[] = [];
  const clock = manualClock();
  const rpc = createRpcPeer({
    write: (line) => written.push(JSON.parse(line)),
    onRequest: () => undefined,
    onNotification: () => {},
    clock,
    ...over,
  });
  return { rpc, written, clock, receive: (message: unknown) => rpc.receive(JSON.stringify(message)) };
}

describe("JSON-RPC lines", () => {
  test("every request gets its own answer, in whatever order they come and however the bytes are cut", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.string({ unit: "grapheme" }), fc.nat(), fc.boolean()), {
          minLength: 1,
          maxLength: 12,
        }),
        fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 30 }),
        async (calls, cuts) => {
          const { rpc, written } = peer();
          const answers = calls.map(([text]) => rpc.request("echo", { text }));
          const replies = written
            .map((message, at) => ({ message, order: calls[at]![1], fails: calls[at]![2] }))
            .sort((a, b) => a.order - b.order)
            .map(({ message: { id, params }, fails }) =>
              fails
                ? { jsonrpc: "2.0", id, error: { code: 7, message: params?.text } }
                : { jsonrpc: "2.0", id, result: { text: params?.text } },
            );
          const bytes = Buffer.from(replies.map((reply) => `${JSON.stringify(reply)}\n`).join(""));
          const lines = createLineSplitter(rpc.receive);
          for (let at = 0, turn = 0; at < bytes.length; turn++) {
            const next = at + cuts[turn % cuts.length]!;
            lines.push(bytes.subarray(at, next));
            at = next;
          }
          const seen = (await Promise.all(answers)).map((answer) =>
            answer.type === "result"
              ? answer.value.text
              : answer.type === "error"
                ? answer.message
                : answer.type,
          );
          expect(seen).toEqual(calls.map(([text]) => text));
        },
      ),
    );
  });

  test("no line of any content throws or answers a request that is not its own", () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            fc.string(),
            fc.json(),
            fc.object().map((one) => JSON.stringify(one)),
          ),
        ),
        (lines) => {
          const { rpc } = peer();
          let answered: RpcAnswer | undefined;
          void rpc.request("open", {}).then((answer) => (answered = answer));
          for (const line of lines) rpc.receive(line);
          expect(answered).toBeUndefined();
        },
      ),
    );
  });

  test("a request of the other end is answered with its own id; an unknown method is -32601", async () => {
    const { written, receive } = peer({
      onRequest: (method) => (method === "known" ? Promise.resolve({ fine: true }) : undefined),
    });
    receive({ jsonrpc: "2.0", id: "a", method: "known", params: {} });
    receive({ jsonrpc: "2.0", id: 0, method: "terminal/create" });
    await Promise.resolve();
    expect(written).toEqual([
      { jsonrpc: "2.0", id: 0, error: { code: -32601, message: "Method not found." } },
      { jsonrpc: "2.0", id: "a", result: { fine: true } },
    ]);
  });

  test("a request without an answer ends after its time, and a late answer changes nothing", async () => {
    const { rpc, clock, written, receive } = peer();
    const answer = rpc.request("slow", {}, { timeoutMs: 30_000 });
    clock.advance(30_000);
    receive({ jsonrpc: "2.0", id: written[0]!.id, result: {} });
    expect(await answer).toEqual({ type: "timeout" });
  });

  test("the end of the other side ends every open request and refuses later ones", async () => {
    const { rpc, written } = peer();
    const open = [rpc.request("one", {}), rpc.request("two", {}, { timeoutMs: 5 })];
    rpc.end();
    expect(await Promise.all([...open, rpc.request("three", {})])).toEqual(Array(3).fill({ type: "closed" }));
    rpc.notify("four", {});
    expect(written).toHaveLength(2);
  });
});
