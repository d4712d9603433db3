import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { KEYS, put, testConfig } from "./harness.ts";
import { LISTENING, ownFolder, startBin } from "./program.ts";

const NETWORK = join(import.meta.dirname, "fixtures/network-disk.mjs");

async function ownHome(): Promise<string> {
  const home = await ownFolder();
  await writeFile(join(home, "config.json"), JSON.stringify(testConfig()), { mode: 0o600 });
  return home;
}

it("is held while children run and the configuration is read again, and free at once after SIGKILL [HOME-2]", async () => {
  const home = await ownHome();
  const first = startBin(home);
  const url = (await first.says(LISTENING))[1]!;
  const headers = { "x-api-key": KEYS.admin, "content-type": "application/json" };
  const reply = await fetch(`${url}/api/v1/agents/assistant/messages`, {
    method: "POST",
    headers,
    body: JSON.stringify({ message: "hello", chat_id: "me" }),
  });
  expect(reply.status).toBe(200);
  await fetch(`${url}/api/v1/agents/second`, {
    method: "PATCH",
    headers,
    body: JSON.stringify({ description: "changed" }),
  });
  const second = startBin(home);
  expect(await second.ended).toBe(1);
  expect(second.stderr()).toContain(`(process ${first.process.pid}) already runs`);

  first.process.kill("SIGKILL");
  await first.ended;
  await startBin(home).says(LISTENING);
});

it("is not held by a record that names a living process, nor by a file left behind [HOME-2]", async () => {
  const home = await ownHome();
  await put(home, "run/gateway.json", JSON.stringify({ pid: process.pid, startedAt: Date.now() }));
  await put(home, "run/gateway.lock", "");
  await startBin(home).says(LISTENING);
});

it("is of the one file: a copied home is another one [HOME-2]", async () => {
  const home = await ownHome();
  const first = startBin(home);
  await first.says(LISTENING);
  const copy = await ownFolder();
  await cp(home, copy, { recursive: true });
  await startBin(copy).says(LISTENING);
  expect(await startBin(home).ended).toBe(1);
});

it.each([
  ["NFS", 0x6969],
  ["SMB", 0xfe534d42],
  // The same number, as systems with 32 bits give it.
  ["CIFS", 0xff534d42 | 0],
])("is refused on %s, with 78 and one sentence [HOME-1]", async (name, type) => {
  const home = await ownHome();
  const gateway = startBin(home, {
    env: { NODE_OPTIONS: `--import ${NETWORK}`, FILE_SYSTEM_TYPE: String(type) },
  });
  expect(await gateway.ended).toBe(78);
  expect(gateway.stderr()).toBe(
    `The gateway's home (${home}) is on a network file system (${name}), whose locks do not keep a second gateway away. ` +
      "Set GATEWAY_HOME to a folder on a local disk.\n",
  );
  await expect(readFile(join(home, "gateway.db"))).rejects.toThrow("ENOENT");
});
