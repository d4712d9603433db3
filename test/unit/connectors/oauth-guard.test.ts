import type { lookup } from "node:dns";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { faultOf, isLocalHost, placeOf } from "../../../packages/gateway/src/connectors/oauth/addresses.ts";
import {
  createGuardedFetch,
  type GuardedFetchOptions,
} from "../../../packages/gateway/src/connectors/oauth/guarded-fetch.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";

/** Answers every name with these addresses. */
const namesAre = (...found: string[]) =>
  ((_name: string, _options: unknown, done: (error: null, all: unknown[]) => void) =>
    done(
      null,
      found.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
    )) as unknown as typeof lookup;

const fetchFrom = (options: Partial<GuardedFetchOptions> = {}) =>
  createGuardedFetch({ clock: manualClock(), local: true, ...options });

async function serve(handle: RequestListener): Promise<string> {
  const server = createServer(handle).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe("addresses that a server names", () => {
  it("are judged by where they lead [OAUTH-10]", () => {
    const places = {
      public: ["93.184.215.14", "2606:2800:21f:cb07::1", "::ffff:93.184.215.14", "64:ff9b::5db8:d70e"],
      local: [
        "127.0.0.1",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "100.64.0.1",
        "::1",
        "fd12::1",
        "::ffff:10.0.0.1",
      ],
      refused: [
        "169.254.169.254",
        "::ffff:169.254.169.254",
        "fe80::1",
        "fe80::1%eth0",
        "fd00:ec2::254",
        "0.0.0.0",
        "::",
        "224.0.0.1",
        "ff02::1",
        "255.255.255.255",
        "240.0.0.1",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "not an address",
      ],
    };
    for (const [place, addresses] of Object.entries(places)) {
      expect(addresses.filter((address) => placeOf(address) !== place)).toEqual([]);
    }
  });

  it("must be https and public, unless the connector's host is local [OAUTH-10]", () => {
    const fault = (url: string, local = false) => faultOf(new URL(url), local);
    for (const url of ["http://a.example/", "javascript:alert(1)", "https://u:p@a.example/"]) {
      expect(fault(url), url).toBeDefined();
    }
    for (const host of [
      "localhost",
      "printer",
      "a.local",
      "a.home.arpa.",
      "0x7f.1",
      "2130706433",
      "[::1]",
      "10.0.0.1",
    ]) {
      expect(fault(`https://${host}/`), host).toBe("is not public");
      expect(fault(`http://${host}/`, true), host).toBeUndefined();
    }
    for (const host of ["169.254.169.254", "[fe80::1]", "[fd00:ec2::254]", "0.0.0.0"]) {
      expect(fault(`https://${host}/`, true), host).toBe("is not public");
    }
    expect(fault("https://a.example/")).toBeUndefined();
    expect(fault("data:text/plain,x", true)).toBe("is not https");
    expect(["localhost", "127.0.0.1", "box", "10.0.0.9", "fd12::1"].every(isLocalHost)).toBe(true);
    expect(["a.example", "93.184.215.14", "169.254.1.1"].some(isLocalHost)).toBe(false);
  });

  it("are judged again when the connection is made, whatever their name stands for by then [OAUTH-10]", async () => {
    let reached = 0;
    const base = await serve((_request, response) => {
      reached++;
      response.end("here");
    });
    const { port } = new URL(base);
    const public_ = fetchFrom({
      local: false,
      owned: false,
      lookup: namesAre("127.0.0.1", "::1", "10.0.0.1"),
    });
    await expect(public_(`https://rebound.example:${port}/`)).rejects.toThrow("is not public");
    const metadata = fetchFrom({ lookup: namesAre("169.254.169.254") });
    await expect(metadata(`http://rebound.example:${port}/`)).rejects.toThrow("is not public");
    const owned = fetchFrom({
      local: false,
      owned: true,
      lookup: namesAre("169.254.169.254", "fd00:ec2::254"),
    });
    await expect(owned(`http://named.example:${port}/`)).rejects.toThrow("is not public");
    // An address needs no looking up.
    const literal = fetchFrom({ local: false, owned: true });
    for (const host of ["169.254.169.254", "[fe80::1]", "[fd00:ec2::254]"]) {
      await expect(literal(`http://${host}:${port}/`)).rejects.toThrow("is not public");
    }
    expect(reached).toBe(0);
    // Of several, those that may be reached are.
    const mixed = fetchFrom({ lookup: namesAre("169.254.169.254", "127.0.0.1") });
    expect(await (await mixed(`http://named.example:${port}/`)).text()).toBe("here");
    const own = fetchFrom({ local: false, owned: true, lookup: namesAre("127.0.0.1") });
    expect((await own(`http://named.example:${port}/`)).status).toBe(200);
  });

  it("are judged at each of three redirects [OAUTH-10]", async () => {
    let target = "";
    const base = await serve((request, response) => {
      const left = Number((request.url as string).slice(1));
      if (left > 0) response.writeHead(302, { location: `/${left - 1}` }).end();
      else if (target) response.writeHead(302, { location: target }).end();
      else response.end("there");
    });
    const fetch = fetchFrom();
    expect(await (await fetch(`${base}/3`)).text()).toBe("there");
    await expect(fetch(`${base}/4`)).rejects.toThrow("redirected too often");
    for (const place of [
      "http://169.254.169.254/",
      "http://[::ffff:169.254.169.254]/",
      "file:///etc/passwd",
    ]) {
      target = place;
      await expect(fetch(`${base}/1`)).rejects.toThrow(/named an address that is not/);
    }
    target = "http://[not an address/";
    await expect(fetch(`${base}/0`)).rejects.toThrow("redirected to no address");
    // The first address is the owner's own; the next is a server's word.
    const owned = fetchFrom({ local: false, owned: true, lookup: namesAre("127.0.0.1") });
    await expect(owned(`${base.replace("127.0.0.1", "own.example")}/1`)).rejects.toThrow("is not https");
  });

  it("get a body only on the origin that it was meant for [OAUTH-11]", async () => {
    const got: string[] = [];
    const other = await serve((_request, response) => void response.end(got.push("other") && ""));
    let location = `${other}/`;
    let status = 307;
    const base = await serve((request, response) => {
      got.push(`${request.method} ${request.url}`);
      if (request.url === "/") response.writeHead(status, { location }).end();
      else request.pipe(response);
    });
    const post = () => fetchFrom()(`${base}/`, { method: "POST", body: "a secret" });
    await expect(post()).rejects.toThrow("must not be sent elsewhere");
    location = "/here";
    expect(await (await post()).text()).toBe("a secret");
    status = 303;
    await expect(post()).rejects.toThrow("must not be sent elsewhere");
    expect(got).toEqual(["POST /", "POST /", "POST /here", "POST /"]);
  });

  it("have ten seconds and 1 MiB for an answer [OAUTH-11]", async () => {
    const clock = manualClock();
    let size = 1024 * 1024;
    const base = await serve((request, response) => {
      if (request.url === "/silent") clock.advance(10_000);
      else if (request.url === "/slow") {
        response.write("{");
        // Time passes when the beginning has arrived.
        setImmediate(() => clock.advance(10_000));
      } else response.end(Buffer.alloc(size));
    });
    const fetch = fetchFrom({ clock });
    await expect(fetch(`${base}/silent`)).rejects.toThrow("did not answer within 10 seconds");
    await expect(fetch(`${base}/slow`)).rejects.toThrow("did not answer within 10 seconds");
    expect((await (await fetch(base)).arrayBuffer()).byteLength).toBe(size);
    size++;
    await expect(fetch(base)).rejects.toThrow("sent more than 1 MiB");
    expect(clock.timers()).toBe(0);
    const stop = new AbortController();
    const stopped = fetchFrom({ signal: stop.signal });
    stop.abort();
    await expect(stopped(base)).rejects.toThrow("could not be reached");
  });
});
