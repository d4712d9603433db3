import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { streamTurn } from "../../../packages/gateway/src/http/sse.ts";
import { createTurnLog } from "../../../packages/gateway/src/sessions/turn-log.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";
import { until } from "../../harness.ts";

const open: Array<() => void> = [];
afterEach(() => {
  for (const close of open.splice(0)) close();
});

/** A turn streamed to one raw connection that reads nothing until told. */
async function stalledReader() {
  const clock = manualClock();
  const log = createTurnLog("r");
  let over = false;
  const server = createServer((_req, res) => {
    void streamTurn(res, log, { clock, keepaliveMs: 15_000 }).then(() => {
      over = true;
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  socket.on("error", () => {});
  socket.pause();
  socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  open.push(
    () => socket.destroy(),
    () => server.close(),
    () => server.closeAllConnections(),
  );
  const connections = () =>
    new Promise<number>((resolve) => server.getConnections((_error, count) => resolve(count)));
  await until(async () => (await connections()) === 1, "the connection");
  return { clock, log, connections, over: () => over };
}

/** More than the sockets of both sides can hold. */
const fill = (log: ReturnType<typeof createTurnLog>) => {
  for (let count = 0; count < 64; count++) log.append({ type: "text_delta", text: "x".repeat(512 * 1024) });
};

describe("a client that stops reading", () => {
  it("loses its connection after two minutes, not before", async () => {
    const { clock, log, connections, over } = await stalledReader();
    fill(log);
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(119_000);
    expect([over(), await connections()]).toEqual([false, 1]);
    clock.advance(2_000);
    await until(async () => over() && (await connections()) === 0, "the connection to be closed");
  });

  it("does so too when its turn is over", async () => {
    const { clock, log, connections, over } = await stalledReader();
    fill(log);
    log.append({ type: "result", text: "", session_id: "s" });
    await until(over, "the stream to be over");
    expect(await connections()).toBe(1);
    clock.advance(121_000);
    await until(async () => (await connections()) === 0, "the connection to be closed");
  });
});
