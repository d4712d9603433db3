import { join } from "node:path";
import { CHANNEL_IDS, GatewayError } from "@agent-gateway/contract";
import type { AgentConfig, ConfigStore } from "../../config/index.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { AccessPort, ChannelName, ChannelPlace, InboundMessage } from "../types.ts";
import { allowInConfig, configPolicy, DEFAULT_ACCOUNT } from "./config-access.ts";
import { createFileBook, type Handshake, type PolicyPatch } from "./file-book.ts";
import { canonicalId } from "./ids.ts";
import type { Knock } from "./knocks.ts";
import { type FileChannel, isFileChannel, judge, type Policy, type Rule } from "./policy.ts";
import { pairingReply } from "./reply.ts";
import { createSenderBook, type SenderPlace } from "./sender-book.ts";

export type { Handshake, PolicyPatch } from "./file-book.ts";
export type { Knock } from "./knocks.ts";
export type { FileChannel, SenderChannel } from "./policy.ts";

export interface AccessDeps {
  config: ConfigStore;
  clock: Clock;
  log: Logger;
  /** Called when a sender or a group who may not write has asked for the first time. */
  onKnock(place: ChannelPlace): void;
}

/** A policy for display; contains no secret. */
export interface PolicyView {
  dmPolicy: Rule;
  dmAllowlist: string[];
  pairing: boolean;
  groupPolicy?: Rule;
  groupAllowlist?: string[];
  requireMention?: boolean;
}

/** Called for each approval: where, and who was admitted. */
export type ApprovalListener = (place: ChannelPlace, knock: Knock) => void;

/** Who may write to which agent, and who has asked to. */
export type Access = ReturnType<typeof createAccess>;

const isSenderPlace = (place: ChannelPlace): place is SenderPlace => !isFileChannel(place.channel);
const unknownCode = () => new GatewayError("NOT_FOUND", "This code is unknown or has expired.");

const UNREADABLE = "The access file cannot be read.";
/** Admits no one: applies while an access file is broken. */
const CLOSED: Policy = {
  dmPolicy: "disabled",
  dmAllowlist: new Set(),
  groupPolicy: "disabled",
  groupAllowlist: new Set(),
  requireMention: true,
  pairing: false,
  restrictions: new Map(),
};

/**
 * The access rules of all channels. Every call takes the agent's current entry, so a policy change applies from the
 * next message on; the channel need not be enabled.
 */
export function createAccess({ config, clock, log, onKnock }: AccessDeps) {
  const files = createFileBook({ clock, log });
  const senders = createSenderBook({ config, clock, log });
  const listeners = new Set<ApprovalListener>();

  /** The current entry, in case the caller's is older. */
  const fresh = (agent: AgentConfig) => config.current.agents.find(({ id }) => id === agent.id) ?? agent;

  async function policy(place: ChannelPlace, given: AgentConfig): Promise<Policy> {
    const agent = fresh(given);
    if (isSenderPlace(place)) return configPolicy(agent, place.channel, place.account);
    return (await files.policy(agent, place.channel as FileChannel)) ?? CLOSED;
  }

  /** Whether the policy lets in a group, or the person of a direct chat, known by these ids. */
  async function admits(
    place: ChannelPlace,
    agent: AgentConfig,
    kind: "dm" | "group",
    ids: readonly string[],
  ): Promise<boolean> {
    const { dmPolicy, dmAllowlist, groupPolicy, groupAllowlist } = await policy(place, agent);
    const [rule, list] = kind === "group" ? [groupPolicy, groupAllowlist] : [dmPolicy, dmAllowlist];
    if (rule === "allowlist") return ids.some((id) => list.has(canonicalId(place.channel, id)));
    return rule === "open";
  }

  /** A failure here must not cost the message that it belongs to. */
  async function attempt<T>(place: ChannelPlace, what: string, task: () => Promise<T>) {
    try {
      return await task();
    } catch (error) {
      log.warn({ err: error, agent: place.agentId, channel: place.channel }, what);
      return undefined;
    }
  }

  const announce: ApprovalListener = (place, knock) => {
    for (const listener of listeners) {
      try {
        listener(place, knock);
      } catch (error) {
        log.error({ err: error, ...place }, "could not announce an approval");
      }
    }
  };

  /** The rules for judging a message; undefined while they cannot be read. */
  const policyToJudge = async (place: ChannelPlace, agent: AgentConfig): Promise<Policy | undefined> =>
    isSenderPlace(place)
      ? policy(place, agent)
      : files.policyToJudge(fresh(agent), place.channel as FileChannel);

  const port: AccessPort = {
    async decide(place, agent, message) {
      const rules = await policyToJudge(place, agent);
      return rules ? judge(place.channel, rules, message) : "later";
    },

    readable: async (place, agent) => (await policyToJudge(place, agent)) !== undefined,

    async knock(place, agent, message) {
      if (!(await port.readable(place, agent))) throw new GatewayError("CONFLICT", UNREADABLE);
      const told = await attempt(place, "could not record a denied sender", async () => {
        const recorded = await (isSenderPlace(place)
          ? senders.knock(place, fresh(agent), message)
          : files.knock(fresh(agent), place.channel as FileChannel, message));
        if (!recorded) return undefined;
        const { knock, tell } = recorded;
        if (knock.count === 1) onKnock(place);
        return tell ? pairingReply(agent.id, place.channel, knock, clock.now()) : undefined;
      });
      if (told === undefined && !(await port.readable(place, agent)))
        throw new GatewayError("CONFLICT", UNREADABLE);
      return told;
    },

    async admit({ agentId, channel, account }, agent, message: InboundMessage) {
      if (!isFileChannel(channel)) return;
      await attempt({ agentId, channel, account }, "could not add an allowed sender to the list", () =>
        files.capture(fresh(agent), channel, message),
      );
    },
  };

  return {
    ...port,

    /** The policy for the agent's record. */
    async policyOf(place: ChannelPlace, agent: AgentConfig): Promise<PolicyView> {
      const now = await policy(place, agent);
      return {
        dmPolicy: now.dmPolicy,
        dmAllowlist: [...now.dmAllowlist],
        pairing: now.pairing,
        ...(place.channel !== "cloudchat" && {
          groupPolicy: now.groupPolicy,
          groupAllowlist: [...now.groupAllowlist],
          requireMention: now.requireMention,
        }),
      };
    },

    /** Whether the policy for direct messages names this sender. Under the policy `open` it names nobody. */
    async isListed(place: ChannelPlace, agent: AgentConfig, senderId: string): Promise<boolean> {
      const { dmPolicy, dmAllowlist } = await policy(place, agent);
      return dmPolicy === "allowlist" && dmAllowlist.has(canonicalId(place.channel, senderId));
    },

    /** Whether the policy allows messages from, and so to, the chat of a JID (`devicechat`). */
    async allowed(place: ChannelPlace, agent: AgentConfig, jid: string, aliases: readonly string[] = []) {
      const group = jid.endsWith("@g.us");
      if (!group && !/@(?:s\.whatsapp\.net|c\.us|lid)$/.test(jid)) return false;
      return admits(place, agent, group ? "group" : "dm", [jid, ...aliases]);
    },
    admits,

    /** Why no one is admitted, as a sentence for the owner; undefined when the policies can be read. */
    async problem({ channel }: ChannelPlace, agent: AgentConfig): Promise<string | undefined> {
      if (!isFileChannel(channel) || (await files.policy(agent, channel))) return undefined;
      const file = join(`.${channel}-state`, "access.json");
      return (
        `The access file ${file} in the workspace cannot be read, so no one is admitted until it is fixed. ` +
        "Messages wait until then, for a day at most."
      );
    },

    /** Pending approvals. */
    pending: (place: ChannelPlace, agent: AgentConfig): Promise<Knock[]> =>
      isSenderPlace(place)
        ? senders.waiting(place, agent)
        : files.waiting(agent, place.channel as FileChannel),

    /**
     * Approves the sender or group with this code; `account` narrows the search (`devicechat`).
     * @throws {GatewayError} `NOT_FOUND`, `CONFLICT` while the file that would change is broken.
     */
    async approve(agent: AgentConfig, channel: ChannelName, code: string, account?: string): Promise<Knock> {
      const found = isFileChannel(channel)
        ? await files.approve(agent, channel, code)
        : await senders.approve(agent, channel, code, account);
      if (!found) throw unknownCode();
      announce({ agentId: agent.id, channel, account: found.account }, found.knock);
      return found.knock;
    },

    /** Dismisses the knock with this code. @throws {GatewayError} `NOT_FOUND`, `CONFLICT` */
    async deny(agent: AgentConfig, channel: ChannelName, code: string, account?: string): Promise<Knock> {
      const knock = isFileChannel(channel)
        ? await files.deny(agent, channel, code)
        : (await senders.deny(agent, channel, code, account))?.knock;
      if (!knock) throw unknownCode();
      return knock;
    },

    /** Dismisses the knock of a sender or group, who may knock again. */
    async dismiss(place: ChannelPlace, agent: AgentConfig, id: string): Promise<void> {
      if (isSenderPlace(place)) await senders.dismiss(place, agent, canonicalId(place.channel, id));
      else await files.dismiss(agent, place.channel as FileChannel, id);
    },

    /** Deletes all knocks of an account that is removed. */
    async forget(place: ChannelPlace, agent: AgentConfig): Promise<void> {
      if (isSenderPlace(place)) await senders.dismiss(place, agent);
    },

    /**
     * Adds an id to a list without a knock. An empty account means the first one of `devicechat`.
     * @throws {GatewayError} `INVALID_REQUEST` for an impossible id or account, `CONFLICT` for a broken file.
     */
    async allow(place: ChannelPlace, agent: AgentConfig, kind: "user" | "group", id: string): Promise<void> {
      const { channel } = place;
      const form = CHANNEL_IDS[channel][kind];
      if (!form?.pattern.test(id)) {
        const message = form?.error ?? "has no groups, only users";
        throw new GatewayError("INVALID_REQUEST", undefined, {
          details: [{ path: form ? "id" : "channel", message }],
        });
      }
      const list = kind === "user" ? "dm" : "group";
      if (isFileChannel(channel)) return files.add(agent, channel, list, id);
      const accounts = fresh(agent).devicechat?.accounts ?? [];
      const account = place.account || (channel === "devicechat" ? (accounts[0]?.id ?? DEFAULT_ACCOUNT) : "");
      if (
        channel === "devicechat" &&
        account !== DEFAULT_ACCOUNT &&
        !accounts.some((one) => one.id === account)
      ) {
        throw new GatewayError("INVALID_REQUEST", undefined, {
          details: [{ path: "account_id", message: "is not configured" }],
        });
      }
      await allowInConfig(config, { ...place, account }, list, canonicalId(channel, id));
    },

    setPolicy: (agent: AgentConfig, channel: FileChannel, patch: PolicyPatch) =>
      files.setPolicy(agent, channel, patch),
    /** Removes a sender or a group from its list. */
    revoke: (agent: AgentConfig, channel: FileChannel, which: "dm" | "group", id: string) =>
      files.remove(agent, channel, which, id),

    /** Approved senders who have not been notified yet. */
    handshakes: async ({ channel }: ChannelPlace, agent: AgentConfig): Promise<Handshake[]> =>
      isFileChannel(channel) ? files.handshakes(agent, channel) : [],

    /** Called after each approval; returns the unsubscribe function. */
    onApproved(listener: ApprovalListener): () => void {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },

    /** Resolves when all writes are done. */
    close: () => senders.close(),
  };
}
