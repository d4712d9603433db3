import { join } from "node:path";
import type { AgentConfig, ConfigStore } from "../../config/index.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { ChannelPlace, InboundMessage } from "../types.ts";
import { allowInConfig, configPolicy } from "./config-access.ts";
import { type Knock, type Recorded, recordKnock, waitingAt, withCode } from "./knocks.ts";
import { judge, type SenderChannel } from "./policy.ts";
import { type Accounts, createFileStore, createMemoryStore, type SenderStore } from "./sender-store.ts";

/** Place of a channel whose policy is in the configuration. */
export type SenderPlace = ChannelPlace & { channel: SenderChannel };

const PERSISTENT: ReadonlySet<SenderChannel> = new Set<SenderChannel>(["devicechat", "cloudchat"]);

/** Access to the channels whose policies and lists are in `config.json`, and the senders that they denied. */
export function createSenderBook(deps: { config: ConfigStore; clock: Clock; log: Logger }) {
  const { config, clock, log } = deps;
  const stores = new Map<string, SenderStore>();

  function storeOf(agent: AgentConfig, channel: SenderChannel): SenderStore {
    const path = PERSISTENT.has(channel)
      ? join(agent.workspace, `.${channel}-state`, "pending.json")
      : undefined;
    const key = path ?? `${agent.id}/${channel}`;
    const known = stores.get(key);
    if (known) return known;
    const made =
      path === undefined
        ? createMemoryStore()
        : createFileStore(path, log.child({ agent: agent.id, channel }));
    stores.set(key, made);
    return made;
  }

  const waiting = (accounts: Accounts, account: string) =>
    waitingAt(accounts.get(account) ?? [], clock.now());

  /** The knock with the code, of one account or any. */
  function find(accounts: Accounts, code: string, only: string | undefined) {
    for (const account of only === undefined ? accounts.keys() : [only]) {
      const knock = withCode(waiting(accounts, account), code);
      if (knock) return { account, knock };
    }
    return undefined;
  }

  const without = (accounts: Accounts, account: string, gone: (knock: Knock) => boolean) => {
    accounts.set(
      account,
      waiting(accounts, account).filter((knock) => !gone(knock)),
    );
  };

  /** For changes that may be lost in the worst case. */
  const saveQuietly = (store: SenderStore) =>
    store
      .save()
      .catch((error: unknown) => log.warn({ err: error }, "could not save the list of denied senders"));

  return {
    async knock(
      place: SenderPlace,
      agent: AgentConfig,
      message: InboundMessage,
    ): Promise<Recorded | undefined> {
      const { channel, account } = place;
      const store = storeOf(agent, channel);
      const recorded = await store.use((accounts) => {
        // The policy may have changed while this waited for an approval to be written.
        const current = config.current.agents.find(({ id }) => id === agent.id) ?? agent;
        const policy = configPolicy(current, channel, account);
        if (judge(channel, policy, message) !== "knock") return undefined;
        const taken = new Set([...accounts.values()].flat().flatMap(({ code }) => code ?? []));
        const result = recordKnock(channel, accounts.get(account) ?? [], message, {
          now: clock.now(),
          pairing: policy.pairing,
          taken,
        });
        accounts.set(account, result.knocks);
        return result;
      });
      if (!recorded) return undefined;
      if (recorded.important) await store.save();
      else void saveQuietly(store);
      return recorded;
    },

    waiting: ({ channel, account }: SenderPlace, agent: AgentConfig): Promise<Knock[]> =>
      storeOf(agent, channel).use((accounts) => waiting(accounts, account)),

    /** Approves the knock with this code, at one account or any; null if there is none. */
    approve(agent: AgentConfig, channel: SenderChannel, code: string, only?: string) {
      const store = storeOf(agent, channel);
      return store.use(async (accounts) => {
        const found = find(accounts, code, only);
        if (!found) return null;
        const place = { agentId: agent.id, channel, account: found.account };
        await allowInConfig(config, place, found.knock.kind, found.knock.id);
        without(accounts, found.account, (knock) => knock === found.knock);
        await saveQuietly(store);
        return found;
      });
    },

    deny(agent: AgentConfig, channel: SenderChannel, code: string, only?: string) {
      const store = storeOf(agent, channel);
      return store.use(async (accounts) => {
        const found = find(accounts, code, only);
        if (!found) return null;
        without(accounts, found.account, (knock) => knock === found.knock);
        await store.save();
        return found;
      });
    },

    /** Deletes the knocks of this id or, without one, of the whole account. */
    async dismiss({ channel, account }: SenderPlace, agent: AgentConfig, id?: string): Promise<void> {
      const store = storeOf(agent, channel);
      await store.use(async (accounts) => {
        const before = accounts.get(account);
        if (!before) return;
        if (id === undefined) accounts.delete(account);
        else without(accounts, account, (knock) => knock.id === id);
        await store.save();
      });
    },

    /** Resolves when all counts are on disk. */
    async close(): Promise<void> {
      await Promise.all(Array.from(stores.values(), (store) => store.idle()));
    },
  };
}
