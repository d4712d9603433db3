import { describe, expect, it } from "vitest";
import { migrate } from "../../../packages/gateway/src/config/migrate.ts";

describe("migration", () => {
  it.each(["0.9.0", "1.0.12", "1.0.12-beta.1"])(
    "pins bind 0.0.0.0 for %s without one [CONF-6]",
    (configVersion) => {
      const raw = { configVersion, gateway: { port: 1 } };
      expect(migrate(raw).from).not.toBeNull();
      expect(raw).toEqual({ configVersion: "2.0.0", gateway: { port: 1, bind: "0.0.0.0" } });
    },
  );

  it("keeps a bind that is there, and pins nothing from 1.0.13 on", () => {
    const own = { configVersion: "1.0.2", gateway: { bind: "127.0.0.1" } };
    migrate(own);
    expect(own.gateway.bind).toBe("127.0.0.1");
    const later = { configVersion: "1.0.13", gateway: {} };
    expect(migrate(later).from).toBe("1.0.13");
    expect(later).toEqual({ configVersion: "2.0.0", gateway: {} });
  });

  it("makes the gateway section when an old file has none", () => {
    const raw: Record<string, unknown> = { configVersion: "1.0.0" };
    migrate(raw);
    expect(raw.gateway).toEqual({ bind: "0.0.0.0" });
  });

  it.each([["2.0.0"], [undefined]])("leaves a current file alone (%s)", (configVersion) => {
    const raw = { ...(configVersion && { configVersion }), gateway: {} };
    const before = structuredClone(raw);
    expect(migrate(raw)).toEqual({ from: null, problems: [] });
    expect(raw).toEqual(before);
  });

  it.each([
    ["1.0.12", true],
    ["1.0.12+build", true],
    ["1.9.9", true],
    ["0.20.30", true],
    ["2.0.0-beta.1", false],
    ["2.0.1", false],
    ["10.0.0", false],
  ])("reads %s as an older version: %s", (configVersion, older) => {
    const raw = { configVersion, gateway: { bind: "::" } };
    expect(migrate(raw).from).toBe(older ? configVersion.replace(/[-+].*/, "") : null);
    expect(raw.configVersion).toBe(older ? "2.0.0" : configVersion);
  });

  it.each(["1", "1.0", "1.0.12.1", "v1.0.12", "1.0.x", "1.0.12 beta", "", "1.0.1234567", null, {}])(
    "takes %j for no version and changes nothing",
    (configVersion) => {
      const raw = { configVersion, gateway: {} };
      expect(migrate(raw)).toMatchObject({
        from: null,
        problems: [
          { level: "warning", path: "configVersion", message: expect.stringMatching(/not a version/) },
        ],
      });
      expect(raw).toEqual({ configVersion, gateway: {} });
    },
  );

  it("leaves a section that is no object for the load to refuse", () => {
    for (const gateway of ["x", 7, false]) {
      const raw = { configVersion: "1.0.0", gateway };
      migrate(raw);
      expect(raw).toEqual({ configVersion: "2.0.0", gateway });
    }
    const none = { configVersion: "1.0.0", gateway: null };
    migrate(none);
    expect(none.gateway).toEqual({ bind: "0.0.0.0" });
  });

  it("moves every setting of the older form into the one account, also beside an empty list", () => {
    const flat = {
      label: "Office",
      dmPolicy: "open",
      dmAllowlist: ["1"],
      groupPolicy: "disabled",
      groupAllowlist: [],
      requireMention: false,
      pairing: true,
      sendReadReceipts: false,
      reactionLevel: "off",
    };
    const raw = { agents: [{ id: "a", devicechat: { ...flat, waWebSocketUrl: "wss://x", accounts: [] } }] };
    migrate(raw);
    expect(raw.agents).toEqual([
      { id: "a", devicechat: { waWebSocketUrl: "wss://x", accounts: [{ id: "default", ...flat }] } },
    ]);
  });

  it.each([{ agents: 7 }, { agents: [{ devicechat: 7 }, { devicechat: [] }, null] }, {}])(
    "leaves what is no list of agents alone: %j",
    (raw: Record<string, unknown>) => {
      const before = structuredClone(raw);
      expect(migrate(raw)).toEqual({ from: null, problems: [] });
      expect(raw).toEqual(before);
    },
  );

  it("warns about a newer version and one that is none, and goes on", () => {
    for (const configVersion of ["3.1.0", "10.0.0", "2.10.0", "2.0.10"]) {
      expect(migrate({ configVersion }).problems[0]!.message).toMatch(/newer/);
    }
    expect(migrate({ configVersion: 7 }).problems[0]!.message).toMatch(/not a version/);
  });

  it("makes an account of an older linked device's own settings, whatever the file's version [CH-ACCESS-22]", () => {
    const flat = { enabled: true, dmPolicy: "open", dmAllowlist: ["1"], pairing: false, label: null };
    const several = { dmPolicy: "open", accounts: [{ id: "work" }] };
    const raw = {
      agents: [
        { id: "a", devicechat: flat },
        { id: "b", devicechat: several },
        { id: "c", devicechat: {} },
        7,
      ],
    };
    expect(migrate(raw)).toEqual({ from: null, problems: [] });
    const account = { id: "default", label: null, dmPolicy: "open", dmAllowlist: ["1"], pairing: false };
    expect(raw.agents).toEqual([
      { id: "a", devicechat: { enabled: true, accounts: [account] } },
      { id: "b", devicechat: { dmPolicy: "open", accounts: [{ id: "work" }] } },
      { id: "c", devicechat: {} },
      7,
    ]);
  });
});
