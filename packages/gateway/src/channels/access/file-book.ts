import { join } from "node:path";
import type { AgentConfig } from "../../config/index.ts";
import type { Clock } from "../../lib/clock.ts";
import { inState, readStateFile, removeState, writeState } from "../../lib/guarded/index.ts";
import type { Logger } from "../../lib/logger.ts";
import type { InboundMessage } from "../types.ts";
import { type AccessFile, createAccessFile } from "./access-file.ts";
import {
  type AccessState,
  addId,
  groupsKey,
  type Raw,
  removeId,
  SENDER_ID,
  writeKnocks,
} from "./access-state.ts";
import { idsOf } from "./ids.ts";
import { type Knock, type Recorded, recordKnock, waitingAt, withCode } from "./knocks.ts";
import { type FileChannel, judge, type Policy, type Rule } from "./policy.ts";

/** The fields that a policy change may set. */
export interface PolicyPatch {
  dmPolicy?: Rule | undefined;
  pairing?: boolean | undefined;
  groupPolicy?: Rule | undefined;
  requireMention?: boolean | undefined;
}

/** A sender who was approved and has not been notified yet. */
export interface Handshake {
  senderId: string;
  /** Chat for the notification. */
  chatId: string;
  /** Absolute; to be removed once the sender has been notified. */
  file: string;
}

const listKey = (channel: FileChannel, which: "dm" | "group") =>
  which === "dm" ? "allowFrom" : groupsKey(channel);

/** Limit on approvals between two checks. */
const MAX_HANDSHAKES = 10_000;
const MAX_CHAT_ID_BYTES = 1024;

/** Access to `botchat` and `guildchat`: policies, lists and knocks in a file of the agent's workspace. */
export function createFileBook(deps: { clock: Clock; log: Logger }) {
  const { clock } = deps;
  const files = new Map<string, AccessFile>();
  /** The agent entries with which the files were last seen. */
  const agents = new Map<string, AgentConfig>();
  const folderOf = (agent: AgentConfig, channel: FileChannel) => join(agent.workspace, `.${channel}-state`);
  const handshakesOf = (agent: AgentConfig, channel: FileChannel) =>
    join(folderOf(agent, channel), "approved");

  function fileOf(agent: AgentConfig, channel: FileChannel): AccessFile {
    const path = join(folderOf(agent, channel), "access.json");
    agents.set(path, agent);
    const known = files.get(path);
    if (known) return known;
    const log = deps.log.child({ agent: agent.id });
    const made = createAccessFile(path, channel, { clock, log, first: () => agents.get(path)?.[channel] });
    files.set(path, made);
    return made;
  }

  /** Takes out the knocks that a code or a dismissal names, and expired ones. */
  function drop(raw: Raw, state: AccessState, channel: FileChannel, gone: (knock: Knock) => boolean): void {
    const left = waitingAt(state.knocks, clock.now()).filter((knock) => !gone(knock));
    if (left.length !== Object.keys((raw.pending ?? {}) as Raw).length) writeKnocks(raw, channel, left);
  }

  const read = async (agent: AgentConfig, channel: FileChannel) => fileOf(agent, channel).read();

  return {
    /** For judging a message; undefined while the file cannot be read. */
    policyToJudge: async (agent: AgentConfig, channel: FileChannel): Promise<Policy | undefined> =>
      (await fileOf(agent, channel).readToJudge())?.policy,

    /** Undefined while the file is broken. */
    policy: async (agent: AgentConfig, channel: FileChannel): Promise<Policy | undefined> =>
      (await read(agent, channel))?.policy,

    async knock(
      agent: AgentConfig,
      channel: FileChannel,
      message: InboundMessage,
    ): Promise<Pick<Recorded, "knock" | "tell"> | undefined> {
      if (message.kind === "dm" && !SENDER_ID.test(message.senderId)) return undefined;
      return fileOf(agent, channel).change((raw, state) => {
        if (judge(channel, state.policy, message) !== "knock") return undefined;
        const { knocks, knock, tell, important } = recordKnock(
          channel,
          state.knocks,
          { ...message, kind: message.kind === "dm" ? "dm" : "group" },
          {
            now: clock.now(),
            pairing: true,
            taken: new Set(state.knocks.flatMap(({ code }) => code ?? [])),
          },
        );
        if (important) writeKnocks(raw, channel, knocks);
        return { knock, tell };
      });
    },

    /** Adds the sender or the group to its list while the policy is `open`. */
    async capture(agent: AgentConfig, channel: FileChannel, message: InboundMessage): Promise<void> {
      const direct = message.kind === "dm";
      const [id] = idsOf(channel, message);
      const wanted = (state: AccessState | undefined) =>
        state !== undefined &&
        id !== undefined &&
        (direct ? state.policy.dmPolicy : state.policy.groupPolicy) === "open" &&
        !(direct ? state.policy.dmAllowlist : state.policy.groupAllowlist).has(id);
      if (!wanted(await read(agent, channel))) return;
      await fileOf(agent, channel).change((raw, state) => {
        if (wanted(state)) addId(raw, listKey(channel, direct ? "dm" : "group"), id!);
      });
    },

    /** Pending knocks; expired ones are removed from the file. */
    async waiting(agent: AgentConfig, channel: FileChannel): Promise<Knock[]> {
      const state = await read(agent, channel);
      if (!state) return [];
      const waiting = waitingAt(state.knocks, clock.now());
      if (waiting.length < state.knocks.length) {
        await fileOf(agent, channel).change((raw, now) => drop(raw, now, channel, () => false));
      }
      return waiting;
    },

    /** Approves the knock with this code; null if there is none. */
    approve: (agent: AgentConfig, channel: FileChannel, code: string) =>
      fileOf(agent, channel).change(async (raw, state) => {
        const knock = withCode(waitingAt(state.knocks, clock.now()), code);
        drop(raw, state, channel, (other) => other === knock);
        if (!knock) return null;
        if (knock.kind !== "dm") {
          addId(raw, listKey(channel, "group"), knock.id);
          return { account: "", knock };
        }
        addId(raw, listKey(channel, "dm"), knock.senderId);
        // Written before the list: if a crash comes in between, approving again simply does the same once more.
        await writeState(join(handshakesOf(agent, channel), knock.senderId), knock.chatId);
        return { account: "", knock };
      }),

    deny: (agent: AgentConfig, channel: FileChannel, code: string) =>
      fileOf(agent, channel).change((raw, state) => {
        const knock = withCode(waitingAt(state.knocks, clock.now()), code);
        drop(raw, state, channel, (other) => other === knock);
        return knock ?? null;
      }),

    dismiss: (agent: AgentConfig, channel: FileChannel, id: string) =>
      fileOf(agent, channel).change((raw, state) =>
        drop(raw, state, channel, (knock) => knock.senderId === id || knock.id === id),
      ),

    setPolicy: (agent: AgentConfig, channel: FileChannel, patch: PolicyPatch) =>
      fileOf(agent, channel).change((raw, { policy }) => {
        const said = Object.entries(patch).filter(([, value]) => value !== undefined);
        Object.assign(raw, Object.fromEntries(said));
        const { dmPolicy, pairing, groupPolicy, requireMention } = policy;
        return { dmPolicy, pairing, groupPolicy, requireMention, ...Object.fromEntries(said) };
      }),

    add: (agent: AgentConfig, channel: FileChannel, which: "dm" | "group", id: string): Promise<void> =>
      fileOf(agent, channel).change((raw) => addId(raw, listKey(channel, which), id)),

    async remove(agent: AgentConfig, channel: FileChannel, which: "dm" | "group", id: string): Promise<void> {
      await fileOf(agent, channel).change((raw) => {
        removeId(raw, listKey(channel, which), id);
        const groups = (raw.groups ?? {}) as Raw;
        if (which === "group" && Object.hasOwn(groups, id)) {
          raw.groups = Object.fromEntries(Object.entries(groups).filter(([group]) => group !== id));
        }
      });
      if (which === "dm" && SENDER_ID.test(id)) await removeState(join(handshakesOf(agent, channel), id));
    },

    /** Approved senders who still have to be notified, also after a restart. */
    async handshakes(agent: AgentConfig, channel: FileChannel): Promise<Handshake[]> {
      const folder = handshakesOf(agent, channel);
      const names = await inState(folder, async (open) => {
        const found: string[] = [];
        for await (const entry of open.entries(MAX_HANDSHAKES)) if (entry.isFile()) found.push(entry.name);
        return found;
      });
      const allowed = (await read(agent, channel))?.policy.dmAllowlist;
      const found: Handshake[] = [];
      for (const senderId of names ?? []) {
        if (!SENDER_ID.test(senderId) || !allowed?.has(senderId)) continue;
        const file = join(folder, senderId);
        const text = await readStateFile(file, MAX_CHAT_ID_BYTES);
        if (text !== undefined) found.push({ senderId, chatId: text.trim() || senderId, file });
      }
      return found;
    },
  };
}
