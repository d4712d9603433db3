import { GatewayError } from "@agent-gateway/contract";
import { type AgentConfig, type ConfigStore, hasVariable } from "../config/index.ts";
import { isRecord } from "../lib/is-record.ts";
import type { DeviceStatus } from "./devicechat/index.ts";
import { deviceAccounts } from "./place.ts";

type Raw = Record<string, unknown>;

/** An account as the API shows it. */
export interface DeviceAccount {
  id: string;
  label: string | null;
  connected: boolean;
  status: DeviceStatus["status"];
  number: string | null;
  dm_policy: string | null;
  dm_allowlist: string[];
  group_policy: string | null;
  group_allowlist: string[];
  require_mention: boolean | null;
  pairing: boolean;
}

const DEFAULT_ACCOUNT = "default";

/** `pairing` as a policy is the older form of `allowlist`. */
const policy = (value: string | undefined): string | null =>
  value === "pairing" ? "allowlist" : (value ?? null);

/** The accounts of an agent with their live state. */
export function accountsOf(
  agent: AgentConfig,
  statusOf: (accountId: string) => DeviceStatus | undefined,
): DeviceAccount[] {
  return deviceAccounts(agent).map((id) => {
    const settings = agent.devicechat?.accounts.find((account) => account.id === id);
    const { status, phoneNumber } = statusOf(id) ?? { status: "unlinked" as const };
    return {
      id,
      label: settings?.label ?? null,
      connected: status === "linked",
      status,
      number: phoneNumber ?? null,
      dm_policy: policy(settings?.dmPolicy),
      dm_allowlist: [...(settings?.dmAllowlist ?? [])],
      group_policy: policy(settings?.groupPolicy),
      group_allowlist: [...(settings?.groupAllowlist ?? [])],
      require_mention: settings?.requireMention ?? null,
      pairing: settings?.dmPolicy === "pairing" || (settings?.pairing ?? true),
    };
  });
}

/** Changes to the list of accounts in the configuration. */
export function createDeviceAccounts(config: Pick<ConfigStore, "update">) {
  /** Hands the agent's block to `edit`, made when there is none. */
  const change = async (agentId: string, edit: (block: Raw) => void): Promise<void> => {
    await config.update((raw) => {
      const entries = Array.isArray(raw.agents) ? (raw.agents as unknown[]) : [];
      const entry = entries.find((one): one is Raw => isRecord(one) && one.id === agentId);
      if (!entry) throw new GatewayError("CONFLICT", "The agent's entry cannot be changed here.");
      entry.devicechat ??= {};
      if (!isRecord(entry.devicechat)) {
        throw new GatewayError("CONFLICT", "This channel's settings cannot be changed here.");
      }
      edit(entry.devicechat);
    });
  };
  /** The list as it is written; while there is none, the account that is there all the same. */
  const listed = (block: Raw): unknown[] =>
    Array.isArray(block.accounts) && block.accounts.length > 0
      ? (block.accounts as unknown[])
      : [{ id: DEFAULT_ACCOUNT }];
  const isCalled = (id: string) => (account: unknown) => isRecord(account) && account.id === id;

  return {
    /** Turns the channel on for an agent whose entry says nothing of it. */
    enable: (agentId: string): Promise<void> => change(agentId, () => {}),

    /** @throws {GatewayError} `CONFLICT` when the id is taken, `INVALID_REQUEST` for a label with a variable. */
    async add(agentId: string, id: string, label: string | null): Promise<void> {
      if (label !== null && hasVariable(label)) {
        const details = [{ path: "label", message: "must not refer to a variable" }];
        throw new GatewayError("INVALID_REQUEST", undefined, { details });
      }
      await change(agentId, (block) => {
        const accounts = listed(block);
        if (accounts.some(isCalled(id)))
          throw new GatewayError("CONFLICT", "An account with this id already exists.");
        block.accounts = [...accounts, { id, ...(label !== null && { label }), pairing: true }];
      });
    },

    /** @throws {GatewayError} `NOT_FOUND`; `CONFLICT` for the only account. */
    async remove(agentId: string, id: string): Promise<void> {
      await change(agentId, (block) => {
        const accounts = listed(block);
        const rest = accounts.filter((account) => !isCalled(id)(account));
        if (rest.length === accounts.length) throw noAccount();
        if (rest.length === 0) throw onlyAccount();
        block.accounts = rest;
      });
    },
  };
}
export type DeviceAccounts = ReturnType<typeof createDeviceAccounts>;

export const noAccount = () => new GatewayError("NOT_FOUND", "There is no such account.");
export const onlyAccount = () =>
  new GatewayError("CONFLICT", "The only account cannot be deleted; unlink it instead.");
