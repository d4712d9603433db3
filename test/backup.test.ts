import { createHash } from "node:crypto";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sealOf } from "../packages/gateway/src/cli/backup/seal.ts";
import { encodeHeader } from "../packages/gateway/src/cli/backup/tar.ts";
import { runCli } from "./fixtures/cli.ts";
import { put, startGateway } from "./harness.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "agent-gateway-backup-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const backup = (home: string, ...args: string[]) =>
  runCli(["backup", ...args], { env: { GATEWAY_HOME: home } });

/** An archive of these bytes. */
function sealed(content: Buffer): Buffer<ArrayBuffer> {
  const zipped = gzipSync(content);
  return Buffer.concat([zipped, sealOf(createHash("sha256").update(zipped).digest())]);
}

/** A home without a gateway. */
async function quietHome(): Promise<string> {
  const home = await mkdtemp(join(folder, "home-"));
  await put(home, "config.json", "{}");
  await put(
    home,
    "agents/assistant/workspace/ünïcode/a very long name that does not fit into the header of an entry, since it goes on and on.txt",
    "long",
  );
  await put(home, "agents/assistant/workspace/big.bin", Buffer.alloc(3_000_000, "abcdefg"));
  await put(home, "agents/assistant/workspace/empty", "");
  await put(home, "logs/gateway.log", "a line\n");
  await put(home, "run/children/12", "gone");
  await put(home, "cache/x", "gone");
  await put(home, "gateway.db.before-13", "gone");
  await put(home, "gateway.db.before-13.partial", "gone");
  await put(home, "agents/assistant/workspace/gateway.db.before-13", "the agent's own");
  const script = await put(home, "agents/assistant/workspace/run.sh", "#!/bin/sh\n");
  await chmod(script, 0o750);
  await symlink("run.sh", join(home, "agents/assistant/workspace/inside"));
  await symlink("/etc/hostname", join(home, "agents/assistant/workspace/outside"));
  await symlink(".", join(home, "agents/assistant/workspace/here"));
  await symlink("here/../../../../none", join(home, "agents/assistant/workspace/dangling-outside"));
  await symlink("not-made-yet", join(home, "agents/assistant/workspace/dangling-inside"));
  return home;
}

describe("backup", () => {
  it("one consistent archive while messages are sent: restored elsewhere, every acknowledged one is there [CLI-5]", async () => {
    await using gateway = await startGateway({ gateway: { rateLimit: false } });
    const file = join(folder, "live.tgz");
    const acknowledged: string[] = [];
    let sending = true;
    const sender = async (name: string) => {
      for (let count = 0; sending; count++) {
        const text = `${name}-${count}`;
        const { status } = await gateway.send(`SAY ${text}`, { chat_id: name });
        if (status === 200) acknowledged.push(text);
      }
    };
    const senders = ["a", "b"].map(sender);
    const warm = async () => {
      while (acknowledged.length < 20) await new Promise((resolve) => setImmediate(resolve));
    };
    await warm();
    const before = [...acknowledged];
    const made = await backup(gateway.home, "create", file, "--json");
    sending = false;
    await Promise.all(senders);
    expect(`${made.code}${made.stderr}`).toBe("0");
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await backup(gateway.home, "verify", file)).code).toBe(0);

    const home = join(folder, "elsewhere");
    const restored = await backup(home, "restore", file, "--json");
    expect(`${restored.code}${restored.stderr}`).toBe("0");
    await using second = await startGateway({ home });
    const found = new Set<string>();
    for (const chat of ["api-a", "api-b"]) {
      const { body } = await second.json("GET", `/api/v1/agents/assistant/chats/${chat}/messages?limit=1000`);
      for (const { role, content } of body.messages as { role: string; content: string }[]) {
        if (role === "assistant") found.add(content);
      }
    }
    expect(before.filter((text) => !found.has(text))).toEqual([]);
    expect((await second.send("SAY goes on")).body.response).toBe("goes on");
  }, 60_000);

  it("keeps names, modes, contents and links; leaves out run, cache, copies of the database and links that lead out, to nothing too [CLI-5]", async () => {
    const home = await quietHome();
    const file = join(folder, "quiet.tgz");
    expect((await backup(home, "create", file)).code).toBe(0);
    const target = join(folder, "restored");
    const { code, stdout } = await backup(target, "restore", file, "--json");
    expect(code).toBe(0);
    expect(JSON.parse(stdout).skippedLinks.sort()).toEqual([
      "agents/assistant/workspace/dangling-outside",
      "agents/assistant/workspace/outside",
    ]);
    const list = async (root: string) =>
      (await readdir(root, { recursive: true }))
        .filter((name) => !/^(run|cache|gateway\.db\.before)|outside$/.test(name))
        .sort();
    expect(await list(target)).toEqual(await list(home));
    expect((await readdir(target)).filter((name) => name.startsWith("gateway.db"))).toEqual([]);
    const workspace = "agents/assistant/workspace";
    for (const name of ["big.bin", "empty", "inside"]) {
      expect(await readFile(join(target, workspace, name))).toEqual(
        await readFile(join(home, workspace, name)),
      );
    }
    expect((await stat(join(target, workspace, "run.sh"))).mode & 0o777).toBe(0o750);
    const names = (await readdir(folder)).filter((name) => name.startsWith("."));
    expect(names).toEqual([]);
  });

  it("--no-logs leaves the logs out", async () => {
    const home = await quietHome();
    const file = join(folder, "no-logs.tgz");
    await backup(home, "create", file, "--no-logs");
    const target = join(folder, "without-logs");
    await backup(target, "restore", file);
    expect(await readdir(target)).not.toContain("logs");
  });

  it("verify detects any flipped byte, and a shortened or lengthened archive [CLI-5]", async () => {
    const home = await mkdtemp(join(folder, "home-"));
    await put(home, "config.json", JSON.stringify({ words: "some content ".repeat(40) }));
    const file = join(folder, "flip.tgz");
    await backup(home, "create", file);
    const bytes = await readFile(file);
    // The seal is 58 bytes long; before it stand the last bits of the compressed data, some without a meaning.
    const places = [
      0,
      1,
      4,
      8,
      9,
      20,
      Math.floor(bytes.length / 2),
      bytes.length - 67,
      bytes.length - 40,
      bytes.length - 1,
    ];
    const damaged = places.map((at) => {
      const copy = Buffer.from(bytes);
      copy[at]! ^= 0x40;
      return copy;
    });
    damaged.push(bytes.subarray(0, -20), bytes.subarray(0, bytes.length / 2));
    const whole = gunzipSync(bytes);
    const changed = Buffer.from(whole);
    changed[changed.indexOf("some content")] = 0x53;
    damaged.push(sealed(changed), sealed(Buffer.concat([whole, Buffer.from("more")])), gzipSync(whole));
    for (const [at, content] of damaged.entries()) {
      await writeFile(file, content);
      const { code, stdout, stderr } = await backup(home, "verify", file);
      expect(`${at}: ${code}${stdout}`).toBe(`${at}: 1`);
      expect(stderr).toMatch(/archive/);
      const nowhere = join(folder, "never");
      expect((await backup(nowhere, "restore", file)).code).toBe(1);
      await expect(stat(nowhere)).rejects.toThrow();
    }
  }, 60_000);

  it("restore refuses a home that is not empty or in use, and moves one aside with --force [CLI-5]", async () => {
    const home = await quietHome();
    const file = join(folder, "refuse.tgz");
    await backup(home, "create", file);
    const busy = await backup(home, "restore", file);
    expect(busy.code).toBe(1);
    expect(busy.stderr).toContain("--force");
    await put(home, "kept.txt", "kept");
    const { stdout } = await backup(home, "restore", file, "--force", "--json");
    const { movedTo } = JSON.parse(stdout);
    expect(await readFile(join(movedTo, "kept.txt"), "utf8")).toBe("kept");
    expect(await readdir(home)).not.toContain("kept.txt");

    await using gateway = await startGateway();
    for (const force of [[], ["--force"]]) {
      const running = await backup(gateway.home, "restore", file, ...force);
      expect(running.code).toBe(1);
      expect(running.stderr).toContain("stop it first");
    }
    const empty = join(folder, "empty");
    await mkdir(empty);
    expect((await backup(empty, "restore", file)).code).toBe(0);
    expect(await readdir(empty)).toContain("config.json");
  }, 60_000);

  it("restore writes nothing outside of the home directory, whatever the archive names [CLI-5]", async () => {
    const evil = [
      { name: "home/../../escaped.txt", type: "file", target: "" },
      { name: "/escaped.txt", type: "file", target: "" },
      { name: "home//escaped.txt", type: "file", target: "" },
    ] as const;
    for (const { name, type, target } of evil) {
      const header = encodeHeader({ name, type, target, mode: 0o600, size: 0, mtime: 0 });
      const file = join(folder, "evil.tgz");
      await writeFile(file, sealed(Buffer.concat([header, Buffer.alloc(1024)])));
      const { code, stderr } = await backup(join(folder, "evil-home"), "restore", file);
      expect(code).toBe(1);
      expect(stderr).toContain("outside");
    }
    expect(await readdir(folder)).not.toContain("escaped.txt");
  });
});
