import { link, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as library from "baileys";
import { expect, test } from "vitest";
import {
  createCredentials,
  isLinked,
} from "../../../../packages/gateway/src/channels/devicechat/credentials.ts";
import { systemClock } from "../../../../packages/gateway/src/lib/clock.ts";
import { seedCredentials } from "../../../fixtures/crabline-device.ts";
import { tempFolder } from "../../../fixtures/temp-home.ts";

async function made() {
  const folder = join(await tempFolder(), "state");
  return { folder, credentials: createCredentials(folder, systemClock) };
}

test("nothing is linked where nothing is, and nothing is written until a phone confirms", async () => {
  const { folder, credentials } = await made();
  expect(await credentials.linkedAs()).toBeUndefined();
  const opened = await credentials.open(library);
  opened.state.creds.me = { id: "15550009999@s.whatsapp.net", name: "~" };
  await opened.save();
  expect(await readdir(folder)).toEqual(["keys-journal.jsonl"]);
  opened.state.creds.account = { details: Buffer.from("d"), accountSignature: Buffer.from("s") };
  await Promise.all([opened.save(), opened.save(), opened.save()]);
  await opened.close();
  expect(await credentials.linkedAs()).toBe("15550009999@s.whatsapp.net");
});

test("keys of every kind come back as they were; those of an attempt without a link are forgotten", async () => {
  const { folder, credentials } = await made();
  await seedCredentials(folder);
  const opened = await credentials.open(library);
  const { keys } = opened.state;
  const data = {
    "pre-key": { 1: { public: Buffer.from("p"), private: Buffer.from("q") } },
    session: { "1.0": Buffer.from([1, 2, 3]) },
    "device-list": { "1": ["0", "3"] },
    "app-state-sync-key": { k: { keyData: Buffer.from("k"), timestamp: 1 } },
  };
  await keys.set(data as never);
  await keys.set({ session: { "2.0": Buffer.from([9]) }, "pre-key": { 2: null } });
  await opened.close();
  const again = await credentials.open(library);
  expect(await again.state.keys.get("session", ["1.0", "2.0", "3.0"])).toEqual({
    "1.0": Buffer.from([1, 2, 3]),
    "2.0": Buffer.from([9]),
  });
  expect(await again.state.keys.get("pre-key", ["1", "2"])).toEqual(
    JSON.parse(
      JSON.stringify({ 1: data["pre-key"][1] }, library.BufferJSON.replacer),
      library.BufferJSON.reviver,
    ),
  );
  expect(await again.state.keys.get("device-list", ["1"])).toEqual({ "1": ["0", "3"] });
  const sync = await again.state.keys.get("app-state-sync-key", ["k"]);
  expect(Buffer.from(sync.k!.keyData!).toString()).toBe("k");
  await again.close();

  await writeFile(join(folder, "creds.json"), "{ broken");
  expect(await credentials.linkedAs()).toBeUndefined();
  const fresh = await credentials.open(library);
  expect(await fresh.state.keys.get("session", ["1.0"])).toEqual({});
  await fresh.close();
});

test("credentials that the library's own store wrote are taken over", async () => {
  const { folder, credentials } = await made();
  const { state, saveCreds } = await library.useMultiFileAuthState(folder);
  state.creds.me = { id: "1:1@s.whatsapp.net", name: "Bot" };
  state.creds.registered = true;
  await saveCreds();
  expect(await credentials.linkedAs()).toBe("1:1@s.whatsapp.net");
  const opened = await credentials.open(library);
  expect(opened.state.creds.noiseKey).toEqual(state.creds.noiseKey);
  await opened.close();
});

test("credentials that cannot be read are neither taken for none nor removed [FAULT-7]", async () => {
  const { folder, credentials } = await made();
  await seedCredentials(folder);
  // A backup of hard links makes a second name, which could be one outside.
  await link(join(folder, "creds.json"), join(folder, "..", "backup.json"));
  await expect(credentials.linkedAs()).rejects.toMatchObject({ code: "CONFLICT" });
  await expect(credentials.open(library)).rejects.toMatchObject({ code: "CONFLICT" });
  await rm(join(folder, "..", "backup.json"));
  expect(await credentials.linkedAs()).toBe("15550009999:1@s.whatsapp.net");
});

test("wiping removes the credentials and what a crash left of them, and nothing else", async () => {
  const { folder, credentials } = await made();
  await seedCredentials(folder);
  await (await credentials.open(library)).close();
  await mkdir(join(folder, "work"));
  await writeFile(join(folder, "pending.json"), "[]");
  await writeFile(join(folder, ".creds.json.0a1b2c3d4e5f.tmp"), "half");
  await writeFile(join(folder, "creds.json.mine"), "mine");
  await credentials.wipe();
  expect((await readdir(folder)).sort()).toEqual(["creds.json.mine", "pending.json", "work"]);
  expect(await readFile(join(folder, "pending.json"), "utf8")).toBe("[]");
  await credentials.wipe();
});

test("the folder goes when it is left empty", async () => {
  const { folder, credentials } = await made();
  await seedCredentials(folder);
  await credentials.wipe();
  await expect(readdir(folder)).rejects.toThrow("ENOENT");
});

test.each([
  [{}, false],
  [{ me: { id: "1@s.whatsapp.net" } }, false],
  [{ me: { id: "1@s.whatsapp.net" }, registered: true }, true],
  [{ me: { id: "1:2@s.whatsapp.net" }, account: {} }, true],
  [{ account: {} }, false],
])("%o is linked: %s", (creds, expected) => {
  expect(isLinked(creds)).toBe(expected);
});
