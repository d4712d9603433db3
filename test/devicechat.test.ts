import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  ALICE,
  base,
  EMPTY,
  exists,
  gateway,
  get,
  type Json,
  link,
  phone,
  post,
  remove,
  start,
  stateDir,
  status,
} from "./fixtures/device-gateway.ts";
import { KEYS, testConfig, until } from "./harness.ts";

describe("linking", () => {
  it("status, link, scan, unlink [CH-DEVICE-14] [CH-DEVICE-15] [CH-DEVICE-17]", async () => {
    await start();
    expect(await get("status")).toMatchObject({ status: 200 });
    expect(await status()).toEqual({ account_id: "default", status: "unlinked", loggedOut: false });
    expect((await post("link")).body).toEqual({ ok: true, account_id: "default" });
    expect(await status()).toMatchObject({ account_id: "default", status: "pending_scan", loggedOut: false });
    await link();
    expect(await status()).toEqual({
      account_id: "default",
      status: "linked",
      loggedOut: false,
      phoneNumber: "+15550009999",
    });
    const channels = (await gateway!.json("GET", "/api/v1/agents/assistant/channels")).body
      .channels as Json[];
    expect(channels.find(({ channel }) => channel === "devicechat")).toMatchObject({
      enabled: true,
      connected: true,
    });
    expect(await exists(join(stateDir(), "creds.json"))).toBe(true);
    expect((await post("unlink", { account_id: "default" })).body).toEqual({
      ok: true,
      account_id: "default",
    });
    expect(await status()).toEqual({ account_id: "default", status: "unlinked", loggedOut: false });
    expect(await exists(stateDir())).toBe(false);
  });

  it("an agent that never had the channel is linked all the same [CH-DEVICE-12]", async () => {
    await start(undefined);
    expect(await status()).toEqual({ account_id: "default", status: "unlinked", loggedOut: false });
    expect((await get("accounts")).body).toEqual({ accounts: [{ id: "default", ...EMPTY }] });
    expect((await post("link", {})).status).toBe(200);
    expect((await gateway!.config()).agents).toMatchObject([{ devicechat: {} }, {}]);
    expect((await status()).status).toBe("pending_scan");
    expect((await post("unlink")).status).toBe(200);
  });

  it("a pairing code instead of a QR code [CH-DEVICE-16]", async () => {
    await start();
    const { status: code, body } = await post("pairing-code", { phoneNumber: "+15550009999" });
    expect([code, body]).toEqual([
      200,
      { pairingCode: expect.stringMatching(/^[0-9A-Z]{8}$/), account_id: "default" },
    ]);
    expect(await status()).toEqual({
      account_id: "default",
      status: "pending_scan",
      loggedOut: false,
      pairingCode: body.pairingCode,
    });
    await until(phone.asksForCode, "the device to ask");
    await phone.typeCode(body.pairingCode as string);
    await until(async () => (await status()).status === "linked", "the link");
    for (const bad of [
      {},
      { phoneNumber: "" },
      { phoneNumber: "  " },
      { phoneNumber: "abc" },
      { phoneNumber: 5 },
    ]) {
      expect(await post("pairing-code", bad)).toMatchObject({
        status: 400,
        body: { code: "INVALID_REQUEST" },
      });
    }
    expect((await post("pairing-code", { phoneNumber: "+15550009999" })).status).toBe(409);
  });

  it("an account that is not configured is 400, an unknown agent 404, a key without write 403 [CH-DEVICE-14] [CH-DEVICE-29]", async () => {
    await start();
    expect((await get("status?account_id=work")).status).toBe(400);
    expect((await post("link", { account_id: "work" })).status).toBe(400);
    expect((await post("unlink", { account_id: "work" })).status).toBe(400);
    expect((await post("pairing-code", { account_id: "work", phoneNumber: "+15550009999" })).status).toBe(
      400,
    );
    const body = { phoneNumber: "+15550009999", jid: ALICE, text: "x", id: "work" };
    const routes: [string, string][] = [
      ["GET", "status"],
      ["POST", "link"],
      ["POST", "pairing-code"],
      ["POST", "unlink"],
      ["POST", "send"],
      ["GET", "accounts"],
      ["POST", "accounts"],
      ["DELETE", "accounts/default"],
    ];
    for (const [method, path] of routes) {
      const options = method === "POST" ? { body } : {};
      for (const key of [KEYS.plain, KEYS.other]) {
        expect((await gateway!.json(method, `${base}/${path}`, { ...options, key })).status).toBe(403);
      }
      const nobody = await gateway!.json(method, `/api/v1/agents/nobody/devicechat/${path}`, options);
      expect(nobody).toMatchObject({ status: 404, body: { code: "AGENT_NOT_FOUND" } });
      expect((await gateway!.json(method, `${base}/${path}`, { ...options, key: null })).status).toBe(401);
    }
    expect((await get("status", { key: KEYS.write })).status).toBe(200);
  });

  it("a channel that is turned off is not linked", async () => {
    await start({ enabled: false });
    expect((await status()).status).toBe("unlinked");
    expect(await post("link")).toMatchObject({ status: 409, body: { code: "CONFLICT" } });
  });
});

describe("accounts", () => {
  it("an account is added beside default, which stays; ids and labels are checked [CH-DEVICE-18] [CH-DEVICE-19] [CH-DEVICE-20] [CH-DEVICE-21]", async () => {
    await start();
    const made = await post("accounts", { id: "work", label: "Work" });
    const work = { id: "work", ...EMPTY, label: "Work" };
    expect(made.status).toBe(201);
    expect(made.body).toEqual({ account: work, accounts: [{ id: "default", ...EMPTY }, work] });
    expect((await get("accounts")).body).toEqual({ accounts: made.body.accounts });
    const { agent } = (await gateway!.json("GET", "/api/v1/agents/assistant")).body as { agent: Json };
    expect(agent.devicechat_accounts).toEqual(made.body.accounts);
    expect((await gateway!.config()).agents).toMatchObject([
      { devicechat: { accounts: [{ id: "default" }, { id: "work", label: "Work", pairing: true }] } },
      {},
    ]);
    expect(await status("work")).toEqual({ account_id: "work", status: "unlinked", loggedOut: false });

    expect((await post("accounts", { id: "work" })).status).toBe(409);
    for (const id of ["default", "", "-a", "_a", "Work", "a b", "ä", "a".repeat(33), 5, undefined, "../x"]) {
      expect(await post("accounts", { id })).toMatchObject({
        status: 400,
        body: { code: "INVALID_REQUEST" },
      });
    }
    for (const label of [5, {}, "${GATEWAY_ADMIN_KEY}"]) {
      expect((await post("accounts", { id: "other", label })).status).toBe(400);
    }
    expect((await post("accounts", { id: "0-_".padEnd(32, "z"), label: null })).status).toBe(201);
  });

  it("deleting logs out, wipes the folder and drops it; the last one stays [CH-DEVICE-22] [CH-DEVICE-23]", async () => {
    await start();
    expect(await remove("accounts/default")).toMatchObject({ status: 409, body: { code: "CONFLICT" } });
    expect(await remove("accounts/work")).toMatchObject({ status: 404, body: { code: "NOT_FOUND" } });
    await post("accounts", { id: "work" });
    await link("work");
    expect(await exists(join(stateDir(), "work/creds.json"))).toBe(true);
    expect(await remove("accounts/work")).toEqual({
      status: 200,
      body: { ok: true, accounts: [{ id: "default", ...EMPTY }] },
      headers: expect.anything(),
    });
    expect(await exists(join(stateDir(), "work"))).toBe(false);
    await until(() => phone.open() === 0, "the end of the connection");
    expect((await get("status?account_id=work")).status).toBe(400);
    expect((await gateway!.config()).agents).toMatchObject([
      { devicechat: { accounts: [{ id: "default" }] } },
      {},
    ]);
    const removed = (content: unknown) => JSON.stringify(content ?? "").includes("remove-companion-device");
    expect(phone.stanzas.some(({ content }) => removed(content))).toBe(true);
  });

  it("of two accounts, default can be deleted too, and is then gone", async () => {
    await start();
    await post("accounts", { id: "work" });
    expect((await remove("accounts/default")).status).toBe(200);
    expect((await get("accounts")).body).toEqual({ accounts: [{ id: "work", ...EMPTY }] });
    expect((await get("status?account_id=default")).status).toBe(400);
    expect((await status()).account_id).toBe("work");
    expect((await remove("accounts/work")).status).toBe(409);
  });

  it("older flat configuration becomes the list of accounts [CH-DEVICE-13]", async () => {
    const flat = { dmPolicy: "pairing", dmAllowlist: ["15550001111"], requireMention: false, label: "Old" };
    const config = testConfig({ agent: { devicechat: { waWebSocketUrl: phone.url, ...flat } } });
    await start({}, { config: { ...config, configVersion: "1.0.20" } });
    expect((await get("accounts")).body.accounts).toEqual([
      {
        id: "default",
        ...EMPTY,
        label: "Old",
        dm_policy: "allowlist",
        dm_allowlist: ["15550001111"],
        require_mention: false,
      },
    ]);
    const [{ devicechat }] = (await gateway!.config()).agents as [{ devicechat: Json }];
    expect(devicechat).toEqual({ waWebSocketUrl: phone.url, accounts: [{ id: "default", ...flat }] });
  });
});
