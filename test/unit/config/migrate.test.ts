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

  it("warns about a newer version and one that is none, and goes on", () => {
    expect(migrate({ configVersion: "3.1.0" }).problems[0]!.message).toMatch(/newer/);
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
