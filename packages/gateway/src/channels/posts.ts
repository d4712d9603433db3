import type { AgentConfig } from "../config/index.ts";
import type { Clock } from "../lib/clock.ts";
import type { TurnEnd } from "../lib/turn-ends.ts";
import type { Change, Store } from "../store/index.ts";
import type { Delivery } from "./delivery/index.ts";
import { CUT_OFF, type IntakeDeps, replyContents, replyText } from "./intake/index.ts";
import { deviceAccounts, isEnabled } from "./place.ts";
import type { ChannelName, ChannelPlace } from "./types.ts";

/** A chat that gets messages without having sent one. */
export interface PostTarget {
  channel: ChannelName;
  /** The provider's id of the chat. */
  chatId: string;
  /** Account of `devicechat`; without one, the account that the chat last wrote to. */
  account?: string | undefined;
}

/** What chats are told: how a turn ended, or what there was of one that a crash cut off. */
export type Posted = TurnEnd | { cutOff: string };

/** Says nothing, and is therefore not sent. */
const NO_REPLY = "NO_REPLY";

interface PostsDeps extends Pick<IntakeDeps, "split" | "attachment"> {
  store: Pick<Store, "inbox">;
  clock: Clock;
  delivery: Pick<Delivery, "add" | "wake">;
  access: PostAccess;
}

/** What posts need from the access rules. */
export interface PostAccess {
  allowed(place: ChannelPlace, agent: AgentConfig, jid: string): Promise<boolean>;
  admits(
    place: ChannelPlace,
    agent: AgentConfig,
    kind: "dm" | "group",
    ids: readonly string[],
  ): Promise<boolean>;
}

/** Replies of turns that no channel's message began. */
export function createPosts({ store, clock, delivery, access, split, attachment }: PostsDeps) {
  const lastOf = (agentId: string, { channel, chatId }: PostTarget) =>
    store.inbox.lastOf({ agent_id: agentId, channel, chat_id: chatId });

  const placeFor = async (agent: AgentConfig, target: PostTarget): Promise<ChannelPlace> => {
    const { channel } = target;
    const account =
      channel !== "devicechat"
        ? ""
        : (target.account ?? (await lastOf(agent.id, target))?.account ?? deviceAccounts(agent)[0]!);
    return { agentId: agent.id, channel, account };
  };

  /** Whether the rules let a chat in; where its id does not say whose it is, its latest message does. */
  const letsIn = async (agent: AgentConfig, place: ChannelPlace, target: PostTarget): Promise<boolean> => {
    const { channel, chatId } = target;
    const ask = (kind: "dm" | "group", id: string) => access.admits(place, agent, kind, [id]);
    const known = async () => {
      const last = await lastOf(agent.id, target);
      if (!last || last.group_id === null) return false;
      return last.group_id === "" ? ask("dm", last.sender_id) : ask("group", last.group_id);
    };
    switch (channel) {
      case "devicechat":
        return access.allowed(place, agent, chatId);
      case "botchat":
        return ask(chatId.startsWith("-") ? "group" : "dm", chatId);
      case "cloudchat":
        return ask("dm", chatId);
      case "sigchat":
        return ask(/^[CR]/.test(chatId) ? "group" : "dm", chatId);
      case "teamchat":
        return chatId.startsWith("D") ? known() : ask(/^[UW]/.test(chatId) ? "dm" : "group", chatId);
      case "guildchat":
        return known();
      default:
        return channel satisfies never;
    }
  };

  return {
    /** Why a chat may get nothing, as the end of a sentence about it; undefined if it may. */
    async refusal(agent: AgentConfig, target: PostTarget): Promise<string | undefined> {
      const { channel } = target;
      if (!isEnabled(agent, channel)) return "belongs to a channel that the agent does not have";
      if (target.account !== undefined) {
        if (channel !== "devicechat") return `cannot have an account, because ${channel} has none`;
        if (!deviceAccounts(agent).includes(target.account)) return "names an account that is not configured";
      }
      const place = await placeFor(agent, target);
      return (await letsIn(agent, place, target)) ? undefined : "is not let in by the channel's rules";
    },
    placeFor,
    /** Puts a reply into the outbox; {@link Delivery.wake} the chat when it is on disk. */
    add(place: ChannelPlace, chatId: string, run: number, posted: Posted): Change {
      const contents =
        "cutOff" in posted
          ? replyContents({ split, attachment }, place, `${posted.cutOff.trim()}\n\n${CUT_OFF}`.trim())
          : replyContents({ split, attachment }, place, textOf(posted), posted.result);
      const target = { chatId, reply: {}, receivedAt: clock.now() };
      return delivery.add({ place, chatId, inbox: null, run, purpose: "reply", target, contents });
    },
    wake: delivery.wake,
  };
}
export type Posts = ReturnType<typeof createPosts>;

function textOf(end: TurnEnd): string {
  const { status, text } = end.result;
  if (text.trim() === NO_REPLY) return "";
  return status === "failed" && text.trim() === "" ? "" : replyText(end);
}
