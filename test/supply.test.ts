import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "./harness.ts";

interface LockEntry {
  version?: string;
  resolved?: string;
  integrity?: string;
  link?: boolean;
  optional?: boolean;
  os?: string[];
  cpu?: string[];
  libc?: string[];
}
const text = (name: string) => readFile(join(root, name), "utf8");

/** Where the tests run, and what the image and most servers are. */
const SERVERS = [
  { os: "linux", cpu: "x64", libc: "glibc" },
  { os: "linux", cpu: "arm64", libc: "glibc" },
];
const fits = (entry: LockEntry, { os, cpu, libc }: (typeof SERVERS)[number]) =>
  (entry.os?.includes(os) ?? true) &&
  (entry.cpu?.includes(cpu) ?? true) &&
  (entry.libc?.includes(libc) ?? true);

describe("what is installed", () => {
  it("is pinned by its content in the lock file, all that a Linux server gets [SUPPLY-1]", async () => {
    const { packages } = JSON.parse(await text("package-lock.json")) as {
      packages: Record<string, LockEntry>;
    };
    const entries = Object.entries(packages).filter(
      ([path, { link }]) => path.includes("node_modules/") && !link,
    );
    expect(entries.length).toBeGreaterThan(400);
    const loose = entries.filter(([, { integrity }]) => !integrity);
    // Binaries for other machines, which the registry of this lock file did not have.
    expect(
      loose.filter(([, entry]) => !entry.optional || SERVERS.some((server) => fits(entry, server))),
    ).toEqual([]);
    expect(loose.length).toBeLessThanOrEqual(24);
    for (const [path, { resolved, integrity }] of entries) {
      if (resolved) expect(resolved, path).toMatch(/^https:\/\/registry\.npmjs\.org\//);
      if (integrity) expect(integrity, path).toMatch(/^sha512-/);
    }
  });

  it("runs no code of its own while it is installed [SUPPLY-2]", async () => {
    expect(await text(".npmrc")).toMatch(/^ignore-scripts=true$/m);
    const files = [
      "scripts/lib.mjs",
      "Dockerfile",
      "README.md",
      "docs/OPERATIONS.md",
      "docs/channels/devicechat.md",
    ];
    for (const file of files) {
      for (const line of (await text(file)).split("\n")) {
        if (/\bnpm (?:ci|i|install)\b(?! exited)/.test(line))
          expect(line, file).toContain("--ignore-scripts");
      }
    }
    expect(await text("scripts/lib.mjs")).toMatch(/"ci",\s*"--ignore-scripts"/);
  });
});
