import { createHash } from "node:crypto";
import { GatewayError } from "@agent-gateway/contract";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  createAuthenticator,
  createDashboardSessions,
  hasLevel,
  type KeyEntry,
  type LoginRows,
  presentedKey,
  reaches,
  sessionCookie,
  sessionToken,
} from "../../../packages/gateway/src/auth/index.ts";
import { silentLogger } from "../../../packages/gateway/src/lib/logger.ts";
import { loginRows } from "../../fixtures/login-rows.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";

const entry = (over: Partial<KeyEntry>): KeyEntry => ({ agents: "*", write: false, admin: false, ...over });
const codeOf = (act: () => unknown) => {
  try {
    act();
  } catch (error) {
    return (error as GatewayError).code;
  }
  return "none";
};
const make = (keys: KeyEntry[]) => {
  const clock = manualClock();
  let current = keys;
  const authenticator = createAuthenticator({ keys: () => current, clock });
  const verify = (key: string, address = "10.0.0.1") => authenticator.verify(Buffer.from(key), address);
  return { clock, authenticator, verify, replace: (next: KeyEntry[]) => (current = next) };
};

describe("keys", () => {
  it("are known by key and by keyHash in either case [AUTH-2]", () => {
    const hash = createHash("sha256").update("hashed").digest("hex").toUpperCase();
    const { verify } = make([entry({ key: "plain" }), entry({ keyHash: `sha256:${hash}`, admin: true })]);
    expect(verify("plain").level).toBe("key");
    expect(verify("hashed").level).toBe("admin");
    expect(codeOf(() => verify(`sha256:${hash}`))).toBe("API_KEY_INVALID");
    expect(codeOf(() => verify("plai"))).toBe("API_KEY_INVALID");
  });

  it("admin implies write, all agents is no level [AUTH-3]", () => {
    const { verify } = make([entry({ key: "a", admin: true, agents: ["one"] }), entry({ key: "all" })]);
    expect(hasLevel(verify("a"), "write")).toBe(true);
    expect(reaches(verify("a"), "two")).toBe(false);
    expect(hasLevel(verify("all"), "write")).toBe(false);
    expect(reaches(verify("all"), "two")).toBe(true);
  });

  it("take * as an item of the list too; without agents an admin key reaches all, another none [AUTH-3]", () => {
    const { verify } = make([
      entry({ key: "star", agents: ["*"] }),
      entry({ key: "root", agents: undefined, admin: true }),
      entry({ key: "none", agents: undefined }),
    ]);
    expect(["star", "root", "none"].map((key) => reaches(verify(key), "two"))).toEqual([true, true, false]);
  });

  it("follow the configuration", () => {
    const { verify, replace, authenticator } = make([entry({ key: "old", admin: true })]);
    const { id } = verify("old");
    expect(authenticator.admin(id)?.level).toBe("admin");
    replace([entry({ key: "new" })]);
    expect(codeOf(() => verify("old"))).toBe("API_KEY_INVALID");
    expect(authenticator.admin(id)).toBeUndefined();
    expect(verify("new").level).toBe("key");
    replace([]);
    expect(authenticator.configured()).toBe(false);
  });

  it("come from X-Api-Key or a bearer token, as bytes", () => {
    expect(presentedKey({ "x-api-key": "k" })?.toString()).toBe("k");
    expect(presentedKey({ authorization: "bearer  k " })?.toString()).toBe("k");
    expect(presentedKey({ "x-api-key": " ", authorization: "Bearer b" })?.toString()).toBe("b");
    expect(presentedKey({ authorization: "Basic eDp5" })).toBeUndefined();
    expect(presentedKey({ authorization: "Bearer " })).toBeUndefined();
    expect(presentedKey({ "x-api-key": Buffer.from("ключ").toString("latin1") })?.toString()).toBe("ключ");
  });

  it("never throws anything but a GatewayError, whatever is presented", () => {
    const { authenticator } = make([entry({ key: "secret" })]);
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.string(), (key, address) => {
        const presented = presentedKey({ "x-api-key": key, authorization: key });
        if (!presented) return;
        try {
          authenticator.verify(presented, address);
        } catch (error) {
          expect(error).toBeInstanceOf(GatewayError);
        }
      }),
    );
  });
});

describe("failed authentications", () => {
  it("are 20 a minute and address, then 429 with Retry-After; a valid key still works [LIM-2]", () => {
    const { verify, clock } = make([entry({ key: "good" })]);
    for (let i = 0; i < 20; i++) expect(codeOf(() => verify("bad"))).toBe("API_KEY_INVALID");
    clock.advance(30_000);
    expect(() => verify("bad")).toThrow(
      expect.objectContaining({ code: "RATE_LIMITED", headers: { "retry-after": "30" } }),
    );
    expect(verify("good").kind).toBe("key");
    expect(codeOf(() => verify("bad", "10.0.0.2"))).toBe("API_KEY_INVALID");
    clock.advance(30_001);
    expect(codeOf(() => verify("bad"))).toBe("API_KEY_INVALID");
  });

  for (const [address, same, other] of [
    ["2001:db8:1:2::1", "2001:db8:1:2:9:9:9:9", "2001:db8:1:3::1"],
    ["2001:db8::1", "2001:db8:0:0:ffff::2", "2001:db8:0:1::1"],
    ["2001:DB8::a:b:c:d", "2001:db8:0:0::1", "2001:db8::1:a:b:c:d"],
    ["fe80::1%eth0", "fe80::2%eth1", "fe80:0:0:1::1%eth0"],
    ["::ffff:192.0.2.1", "192.0.2.1", "::ffff:192.0.2.2"],
    ["::ffff:c000:201", "192.0.2.1", "192.0.2.3"],
  ] as const) {
    it(`of ${address} and ${same} count together, of ${other} apart [EDGE-7]`, () => {
      const { verify } = make([entry({ key: "good" })]);
      for (let i = 0; i < 20; i++) codeOf(() => verify("bad", address));
      expect(codeOf(() => verify("bad", same))).toBe("RATE_LIMITED");
      expect(codeOf(() => verify("bad", other))).toBe("API_KEY_INVALID");
    });
  }
});

describe("dashboard sessions", () => {
  const open = async (rows: LoginRows = loginRows()) => {
    const made = make([entry({ key: "root", admin: true })]);
    const begin = () =>
      createDashboardSessions({
        clock: made.clock,
        log: silentLogger,
        rows,
        admin: made.authenticator.admin,
      });
    const sessions = begin();
    /** The same in the next run of the gateway. */
    const restart = async () => {
      const next = begin();
      await next.load();
      return next;
    };
    const { id } = made.verify("root");
    return { ...made, id, rows, sessions, restart, token: (await sessions.open(id)).token };
  };

  it("last 12 hours from their last use", async () => {
    const { sessions, token, clock } = await open();
    clock.advance(11 * 3_600_000);
    expect(sessions.check(token)).toMatchObject({ kind: "dashboard", level: "admin", agents: "*" });
    clock.advance(11 * 3_600_000);
    expect(sessions.check(token)).toBeDefined();
    clock.advance(12 * 3_600_000);
    expect(sessions.check(token)).toBeUndefined();
  });

  it("end with a logout and with their key", async () => {
    const { sessions, id, token, replace } = await open();
    const { token: second } = await sessions.open(id);
    await sessions.close(second);
    expect(sessions.check(second)).toBeUndefined();
    expect(sessions.check(token)).toBeDefined();
    replace([entry({ key: "root" })]);
    expect(sessions.check(token)).toBeUndefined();
  });

  it("are bounded: the least recently used goes, and its row too", async () => {
    const { sessions, token, id, rows } = await open();
    const { token: early } = await sessions.open(id);
    for (let i = 0; i < 998; i++) await sessions.open(id);
    expect(sessions.check(token)).toBeDefined();
    await sessions.open(id);
    expect(sessions.check(early)).toBeUndefined();
    expect(sessions.check(token)).toBeDefined();
    await expect.poll(async () => (await rows.all()).length).toBe(1000);
  });

  it("that are used are stored again every ten minutes at most, and not when nothing changed [LOGIN-1]", async () => {
    let kept = 0;
    const rows = loginRows();
    const keep: LoginRows["keep"] = (login) => {
      kept++;
      return rows.keep(login);
    };
    const { sessions, token, clock } = await open({ ...rows, keep });
    for (let second = 0; second < 600; second++) {
      expect(kept).toBe(1);
      sessions.check(token);
      clock.advance(1_000);
    }
    sessions.check(token);
    expect(kept).toBe(2);
  });

  it("name their key by its own id, and themselves by the key that opened them [LOGIN-1]", async () => {
    const { sessions, token, id, replace } = await open();
    replace([entry({ key: "root", admin: true, id: "owner" })]);
    expect(sessions.check(token)).toMatchObject({ id: `dashboard-${id}`, keyId: "owner" });
  });

  it("of an earlier run are forgotten in the order of their last use [LOGIN-1]", async () => {
    const { sessions, token, id, clock, restart, rows } = await open();
    const others: string[] = [];
    for (let n = 0; n < 999; n++) {
      clock.advance(1_000);
      others.push((await sessions.open(id)).token);
    }
    clock.advance(1_000);
    sessions.check(token);
    const latest = clock.now() + 12 * 3_600_000;
    await expect
      .poll(async () => (await rows.all()).some(({ expiresAt }) => expiresAt === latest))
      .toBe(true);
    const next = await restart();
    await next.open(id);
    expect([token, others[0]!, others[1]!].map((one) => next.check(one) !== undefined)).toEqual([
      true,
      false,
      true,
    ]);
  });

  it("that are over when another one begins make room, their rows too [LOGIN-1]", async () => {
    const { sessions, id, clock, rows } = await open();
    clock.advance(12 * 3_600_000);
    await sessions.open(id);
    await expect.poll(async () => (await rows.all()).length).toBe(1);
  });

  it("survive a restart with the time of their last use, but never without their key [LOGIN-1]", async () => {
    const { sessions, token, clock, restart, replace, rows } = await open();
    clock.advance(11 * 3_600_000);
    expect(sessions.check(token)).toBeDefined();
    const extended = clock.now() + 12 * 3_600_000;
    await expect.poll(async () => (await rows.all())[0]?.expiresAt).toBe(extended);
    clock.advance(11 * 3_600_000);
    expect((await restart()).check(token)).toMatchObject({ kind: "dashboard", level: "admin" });
    replace([entry({ key: "other", admin: true })]);
    await restart();
    replace([entry({ key: "root", admin: true })]);
    expect((await restart()).check(token)).toBeUndefined();
    expect(await rows.all()).toEqual([]);
  });

  it("are not in the rows any more once they have expired or were closed [LOGIN-1]", async () => {
    const { sessions, token, id, clock, restart, rows } = await open();
    const { token: second } = await sessions.open(id);
    await sessions.close(second);
    expect((await restart()).check(second)).toBeUndefined();
    expect((await restart()).check(token)).toBeDefined();
    clock.advance(12 * 3_600_000);
    await restart();
    await expect.poll(rows.all).toEqual([]);
  });

  it("stay closed when the logout overtakes the row of the login [LOGIN-2]", async () => {
    const rows = loginRows();
    let store: () => void = () => {};
    const gate = new Promise<void>((resolve) => {
      store = resolve;
    });
    const slow: LoginRows = {
      ...rows,
      async keep(login) {
        await gate;
        await rows.keep(login);
      },
    };
    const made = make([entry({ key: "root", admin: true })]);
    const deps = { clock: made.clock, log: silentLogger, rows: slow, admin: made.authenticator.admin };
    const sessions = createDashboardSessions(deps);
    const { id } = made.verify("root");
    const first = sessions.open(id);
    // A thousand others push it out before it is stored.
    const others = Array.from({ length: 1000 }, () => sessions.open(id));
    store();
    const { token } = await first;
    await Promise.all(others);
    const next = createDashboardSessions(deps);
    await next.load();
    expect(next.check(token)).toBeUndefined();
    expect((await rows.all()).length).toBe(1000);
  });

  it("work on a full disk for this run, and a logout says when it could not be stored [LOGIN-2]", async () => {
    const full = () => Promise.reject(new Error("database or disk is full"));
    const { sessions, token } = await open({ ...loginRows(), keep: full, remove: full });
    expect(sessions.check(token)).toBeDefined();
    await expect(sessions.close(token)).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect(sessions.check(token)).toBeUndefined();
  });

  it("are gone for good once a repeated logout succeeds [LOGIN-2]", async () => {
    const rows = loginRows();
    let full = true;
    const remove: LoginRows["remove"] = async (digests) => {
      if (full) throw new Error("database or disk is full");
      await rows.remove(digests);
    };
    const { sessions, token, restart } = await open({ ...rows, remove });
    await expect(sessions.close(token)).rejects.toMatchObject({ code: "UNAVAILABLE" });
    await expect(sessions.close(token)).rejects.toMatchObject({ code: "UNAVAILABLE" });
    full = false;
    await sessions.close(token);
    expect((await restart()).check(token)).toBeUndefined();
  });

  it("travel in an HttpOnly, SameSite=Strict cookie [COOKIE-1]", () => {
    const port = 10_850;
    const cookie = sessionCookie("abc", { secure: true, port });
    expect(cookie).toBe("__Host-agent_gateway_session=abc; Path=/; HttpOnly; SameSite=Strict; Secure");
    const plain = sessionCookie("def", { secure: false, port });
    expect(plain).toBe("agent_gateway_session_10850=def; Path=/; HttpOnly; SameSite=Strict");
    expect(sessionCookie(null, { secure: false, port })).toContain("Max-Age=0");
    expect(sessionToken(`x=1; ${plain}; ${cookie}`, port)).toBe("abc");
    expect(sessionToken(`x=1; ${plain}`, port)).toBe("def");
    expect(sessionToken(plain, port + 1)).toBeUndefined();
    expect(sessionToken("x=1; y", port)).toBeUndefined();
    expect(sessionToken(undefined, port)).toBeUndefined();
    // A second one of the name is another page's attempt to replace it.
    expect(sessionToken(`${plain.split(";")[0]}; agent_gateway_session_10850=evil`, port)).toBe("def");
    fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => void sessionToken(text, port)));
  });
});
