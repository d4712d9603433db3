import { expect, test } from "vitest";
import {
  accountsOf,
  createDeviceAccounts,
} from "../../../../packages/gateway/src/channels/device-accounts.ts";
import { migrate } from "../../../../packages/gateway/src/config/migrate.ts";
import { tempHome } from "../../../fixtures/temp-home.ts";

test("accounts show what the configuration and the live connection say [CH-DEVICE-18]", () => {
  const settings = {
    dmPolicy: "pairing",
    dmAllowlist: ["1"],
    groupAllowlist: [],
    requireMention: false,
    label: "W",
  };
  const agent = {
    devicechat: {
      accounts: [
        { id: "work", ...settings },
        { id: "home", pairing: false },
      ],
    },
  };
  const statuses = { work: { status: "linked", loggedOut: false, phoneNumber: "+49170" } } as const;
  expect(accountsOf(agent as never, (id) => statuses[id as "work"])).toEqual([
    {
      id: "work",
      label: "W",
      connected: true,
      status: "linked",
      number: "+49170",
      dm_policy: "allowlist",
      dm_allowlist: ["1"],
      group_policy: null,
      group_allowlist: [],
      require_mention: false,
      pairing: true,
    },
    expect.objectContaining({
      id: "home",
      connected: false,
      status: "unlinked",
      number: null,
      pairing: false,
    }),
  ]);
});

test.each(["2.0.0", "1.0.5", undefined])(
  "flat settings of a file of version %s move into the list [CH-DEVICE-13]",
  (configVersion) => {
    const raw = {
      ...(configVersion && { configVersion }),
      agents: [
        { id: "a", devicechat: { waWebSocketUrl: "ws://x", dmPolicy: "open", label: "L", other: 1 } },
        { id: "b", devicechat: { accounts: [{ id: "x" }], dmPolicy: "open" } },
        { id: "c", devicechat: { accounts: [] } },
        { id: "d" },
        "broken",
      ],
    };
    migrate(raw);
    expect(raw.agents).toEqual([
      {
        id: "a",
        devicechat: {
          waWebSocketUrl: "ws://x",
          other: 1,
          accounts: [{ id: "default", dmPolicy: "open", label: "L" }],
        },
      },
      { id: "b", devicechat: { accounts: [{ id: "x" }], dmPolicy: "open" } },
      { id: "c", devicechat: { accounts: [] } },
      { id: "d" },
      "broken",
    ]);
  },
);

test("an account that is added keeps what a flat file said of the first one", async () => {
  const home = await tempHome({
    gateway: {},
    agents: [{ id: "a", devicechat: { dmAllowlist: ["15550001111"] } }],
  });
  const store = await home.open();
  const accounts = createDeviceAccounts(store);
  await accounts.add("a", "work", null);
  expect(store.current.agents[0]!.devicechat?.accounts).toMatchObject([
    { id: "default", dmAllowlist: ["15550001111"] },
    { id: "work", pairing: true },
  ]);
  await accounts.remove("a", "default");
  await expect(accounts.remove("a", "work")).rejects.toMatchObject({ code: "CONFLICT" });
  await expect(accounts.remove("a", "none")).rejects.toMatchObject({ code: "NOT_FOUND" });
  await expect(accounts.add("a", "work", null)).rejects.toMatchObject({ code: "CONFLICT" });
});
