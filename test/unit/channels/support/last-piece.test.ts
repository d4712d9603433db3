import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { fetchBeginning } from "../../../../packages/gateway/src/channels/support/last-piece.ts";
import { until } from "../../../harness.ts";

const BIG = 3 * 1024 * 1024;
const headers = { connection: "close" };

/** What the server saw: connections, requests that are whole, and connections that are gone. */
let seen: { connections: number; whole: number; gone: number };
let server: Server;
let url: string;

beforeEach(async () => {
  // Connections of the test before may end late.
  const own = { connections: 0, whole: 0, gone: 0 };
  seen = own;
  server = createServer((request, response) => {
    request.resume();
    request.on("error", () => {});
    request.on("end", () => {
      own.whole++;
      response.end("ok");
    });
  });
  server.on("connection", (socket) => {
    own.connections++;
    socket.on("close", () => own.gone++);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
});
afterEach(() => {
  server.close();
  server.closeAllConnections();
});

const inPieces = () =>
  new ReadableStream({
    start(controller) {
      for (const piece of ["one ", "two ", "three"]) controller.enqueue(Buffer.from(piece));
      controller.close();
    },
  });
const bodies: Record<string, () => RequestInit> = {
  text: () => ({ body: "hello" }),
  form() {
    const form = new FormData();
    form.set("file", new Blob(["x".repeat(BIG)]), "a.txt");
    return { body: form };
  },
  stream: () => ({ body: inPieces(), duplex: "half" }) as RequestInit,
};

describe.each(Object.keys(bodies))("a request whose body is a %s", (kind) => {
  const init = () => ({ method: "POST", headers, ...bodies[kind]!() });

  it("begins once its connection is open, and before it is whole [CH-JOURNAL-6]", async () => {
    const before: unknown[] = [];
    const response = await fetchBeginning(url, init(), () => void before.push({ ...seen }));
    expect(await response.text()).toBe("ok");
    expect(before).toEqual([{ connections: 1, whole: 0, gone: 0 }]);
    expect(seen).toMatchObject({ connections: 1, whole: 1 });
  });

  it("is never whole when it may not begin [CH-JOURNAL-5]", async () => {
    const begin = () => {
      throw new Error("the disk is full");
    };
    await expect(fetchBeginning(url, init(), begin)).rejects.toThrow();
    await until(() => seen.gone > 0, "the end of the connection");
    expect(seen.whole).toBe(0);
  });

  it("never begins when it finds no server [CH-JOURNAL-6]", async () => {
    server.close();
    let begun = 0;
    await expect(fetchBeginning(url, init(), () => void begun++)).rejects.toThrow();
    expect(begun).toBe(0);
  });
});

it("a request without a body begins before it is made [CH-JOURNAL-6]", async () => {
  const before: number[] = [];
  const begin = () => {
    before.push(seen.connections);
    throw new Error("the disk is full");
  };
  await expect(fetchBeginning(url, { method: "POST", headers }, begin)).rejects.toThrow();
  expect(before).toEqual([0]);
});

it("a request begins before it is made where its pieces cannot be followed [CH-JOURNAL-6]", async () => {
  const dispatcher = Symbol.for("undici.globalDispatcher.2");
  const own: unknown = Reflect.get(globalThis, dispatcher);
  const before: number[] = [];
  Reflect.set(globalThis, dispatcher, undefined);
  try {
    const begin = () => {
      before.push(seen.connections);
      Reflect.set(globalThis, dispatcher, own);
    };
    const response = await fetchBeginning(url, { method: "POST", headers, body: "hello" }, begin);
    expect(await response.text()).toBe("ok");
  } finally {
    Reflect.set(globalThis, dispatcher, own);
  }
  expect(before).toEqual([0]);
});
