import type { AddressInfo } from "node:net";
import { createServer, type Server, type Socket } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  exchange,
  neverSent,
  outcomeOfStatus,
  outcomeOfThrown,
  retryAfterMs,
} from "../../../../packages/gateway/src/channels/support/outcome.ts";
import { systemClock } from "../../../../packages/gateway/src/lib/clock.ts";
import { unending } from "../../../fixtures/adapter.ts";
import { freePort } from "../../../fixtures/ports.ts";

/** A server on loopback that does this with each connection. */
async function listen(handle: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    handle(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** What a post to this address comes to. */
const post = (url: string, timeoutMs = 5_000) =>
  exchange(url, { method: "POST", body: "x" }, { signal: unending, clock: systemClock, timeoutMs }).then(
    ({ status }) => outcomeOfStatus(status, "answered").status,
    (error) => outcomeOfThrown(error).status,
  );
/** Does something when the request has come. */
const afterReading = (act: (socket: Socket) => void) => (socket: Socket) =>
  void socket.once("data", () => act(socket));

describe("a request without a complete answer", () => {
  it("may be repeated when it surely never left: no address, no peer, no TLS [CH-OUTCOME-1]", async () => {
    expect(await post(`http://127.0.0.1:${await freePort()}/`)).toBe("retry");
    expect(await post("http://no-such-host.invalid/")).toBe("retry");
    const plain = await listen((socket) => void socket.write("HTTP/1.1 400 Bad Request\r\n\r\n"));
    expect(await post(`https://127.0.0.1:${plain}/`)).toBe("retry");
    const hangsUp = await listen(afterReading((socket) => socket.destroy()));
    expect(await post(`https://127.0.0.1:${hangsUp}/`)).toBe("retry");
  });

  it("is uncertain once it was written, whatever ended it [CH-OUTCOME-1]", async () => {
    const drops = await listen(afterReading((socket) => socket.destroy()));
    expect(await post(`http://127.0.0.1:${drops}/`)).toBe("unknown");
    const resets = await listen(afterReading((socket) => socket.resetAndDestroy()));
    expect(await post(`http://127.0.0.1:${resets}/`)).toBe("unknown");
    const cuts = await listen(
      afterReading((socket) =>
        socket.write("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{", () => socket.destroy()),
      ),
    );
    expect(await post(`http://127.0.0.1:${cuts}/`)).toBe("unknown");
    const babbles = await listen(afterReading((socket) => void socket.write("no HTTP at all\r\n\r\n")));
    expect(await post(`http://127.0.0.1:${babbles}/`)).toBe("unknown");
    const hangs = await listen(() => {});
    expect(await post(`http://127.0.0.1:${hangs}/`, 50)).toBe("unknown");
  });

  it("is judged by all addresses that were tried, and by the error at the bottom [CH-OUTCOME-1]", () => {
    const failure = (code: string, syscall?: string) => Object.assign(new Error(code), { code, syscall });
    const fetched = (cause: unknown) => new TypeError("fetch failed", { cause });
    expect(neverSent(fetched(failure("ECONNREFUSED")))).toBe(true);
    const both = new AggregateError([failure("ETIMEDOUT", "connect"), failure("ENETUNREACH", "connect")]);
    expect(neverSent(fetched(both))).toBe(true);
    expect(neverSent(fetched(new AggregateError([failure("ECONNREFUSED"), failure("ECONNRESET")])))).toBe(
      false,
    );
    expect(neverSent(fetched(failure("ETIMEDOUT", "read")))).toBe(false);
    expect(neverSent(fetched(failure("ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC")))).toBe(false);
    expect(neverSent(fetched(failure("DEPTH_ZERO_SELF_SIGNED_CERT")))).toBe(true);
    for (const strange of [undefined, null, "text", {}, new Error("x"), failure("UND_ERR_SOCKET")]) {
      expect(outcomeOfThrown(strange)).toMatchObject({ status: "unknown" });
    }
    expect(outcomeOfThrown(fetched(both)).status).toBe("retry");
  });
});

describe("a complete answer without success", () => {
  it("is to be tried again after 429 and 5xx, with the wait that it asks for, and else a refusal [CH-OUTCOME-2]", () => {
    expect(outcomeOfStatus(429, "slow", 7)).toEqual({ status: "retry", reason: "slow", afterMs: 7 });
    for (const status of [500, 502, 503, 599]) expect(outcomeOfStatus(status, "x").status).toBe("retry");
    for (const status of [301, 400, 401, 403, 404, 409, 413])
      expect(outcomeOfStatus(status, "x").status).toBe("failed");
    const now = Date.UTC(2026, 0, 1);
    expect(retryAfterMs("3", now)).toBe(3_000);
    expect(retryAfterMs("0.25", now)).toBe(250);
    expect(retryAfterMs("Thu, 01 Jan 2026 00:00:10 GMT", now)).toBe(10_000);
    expect(retryAfterMs("Thu, 01 Jan 2015 00:00:10 GMT", now)).toBe(0);
    for (const nothing of ["", "soon", null, undefined]) expect(retryAfterMs(nothing, now)).toBeUndefined();
  });
});
