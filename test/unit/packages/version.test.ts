import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compareVersions, isVersion } from "../../../packages/gateway/src/packages/version.ts";

/** In the order that https://semver.org/#spec-item-11 gives them. */
const ORDERED = [
  "0.9.9",
  "1.0.0-0",
  "1.0.0-2",
  "1.0.0-11",
  "1.0.0-alpha",
  "1.0.0-alpha.1",
  "1.0.0-alpha.beta",
  "1.0.0-beta",
  "1.0.0-beta.2",
  "1.0.0-beta.11",
  "1.0.0-rc.1",
  "1.0.0",
  "1.0.1",
  "1.2.0",
  "1.10.0",
  "2.0.0",
  "10.0.0",
];

describe("versions", () => {
  it("are ordered as the specification orders them [PKG-11]", () => {
    for (const [a, left] of ORDERED.entries()) {
      for (const [b, right] of ORDERED.entries()) {
        expect(Math.sign(compareVersions(left, right)), `${left} and ${right}`).toBe(Math.sign(a - b));
      }
    }
    expect(compareVersions("1.0.0+one", "1.0.0+two")).toBe(0);
  });

  it("are three numbers without leading zeros, and what may follow [PKG-11]", () => {
    for (const text of ["1.2.3", "0.0.0", "1.2.3-a.b-c.0", "1.2.3+001", "1.2.3-x+y.z"]) {
      expect(isVersion(text), text).toBe(true);
    }
    const wrong = [
      "",
      "1",
      "1.2",
      "1.2.3.4",
      "v1.2.3",
      "01.2.3",
      "1.2.03",
      "1.2.3-",
      "1.2.3-01",
      "1.2.3-a..b",
    ];
    for (const text of [
      ...wrong,
      "1.2.3 ",
      "1.2.3\n",
      "latest",
      "^1.2.3",
      `1.2.${"9".repeat(300)}`,
      3,
      null,
    ]) {
      expect(isVersion(text), String(text)).toBe(false);
    }
    expect(() => compareVersions("1.2.3", "latest")).toThrow();
  });

  it("have one order, whichever way they are compared [PKG-11]", () => {
    const identifier = fc.oneof(fc.nat(20).map(String), fc.constantFrom("a", "b", "a-b", "rc"));
    const version = fc
      .tuple(fc.nat(3), fc.nat(3), fc.nat(3), fc.array(identifier, { maxLength: 3 }))
      .map(([a, b, c, before]) => `${a}.${b}.${c}${before.length > 0 ? `-${before.join(".")}` : ""}`);
    fc.assert(
      fc.property(version, version, version, (a, b, c) => {
        expect(Math.sign(compareVersions(a, b))).toBe(0 - Math.sign(compareVersions(b, a)));
        const [x, y, z] = [a, b, c].sort(compareVersions) as [string, string, string];
        expect(compareVersions(x, z)).toBeLessThanOrEqual(0);
        expect(compareVersions(x, y)).toBeLessThanOrEqual(0);
        expect(compareVersions(y, z)).toBeLessThanOrEqual(0);
      }),
      { seed: 20_261_122 },
    );
  });
});
