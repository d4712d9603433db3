import type { AgentConfig } from "../config/index.ts";
import { withoutSlashes } from "../lib/without-slashes.ts";
import { CLI_CHANNELS } from "./offer.ts";
import type { Asker, Pairings } from "./pairings.ts";

/** A message of a chat that begins with `/cli`. */
export interface ChatMessage {
  agent: AgentConfig;
  channel: string;
  chatId: string;
  senderId: string;
  isDirect: boolean;
  text: string;
}

/** What the chat is answered. */
export interface Said {
  text: string;
  buttons?: readonly { label: string; command: string }[];
  /** A button that opens this page inside of the chat's app. */
  webApp?: { label: string; url: string };
}

export interface ChatCommandDeps {
  pairings: Pairings;
  hasTerminal(agent: AgentConfig): Promise<boolean>;
  isListed(agent: AgentConfig, asker: Asker): Promise<boolean>;
  publicUrl(): string | undefined;
}

const CLI = /^\/cli(?:\s+([a-z]+))?(?:\s+(\S{1,40}))?\s*$/i;

const NOT_DIRECT = "I show the terminal only in a direct chat.";
const NOT_LISTED =
  "I show the terminal only to people on the allowlist, and to nobody where everybody may write to me.";
const NO_ADDRESS = "The gateway has no public address for the page; its owner sets gateway.publicUrl.";
const UNKNOWN_CODE = "This code is unknown or has expired.";
const NOT_OPENED =
  "Nobody has opened the link yet. Open it first, and approve when the page shows this code.";
const USAGE = "Send /cli to open the terminal, then /cli approve CODE or /cli deny CODE.";

/** Answers `/cli`; undefined where there is no such command. */
export function createChatCommand({ pairings, hasTerminal, isListed, publicUrl }: ChatCommandDeps) {
  const offer = (asker: Asker, base: string): Said => {
    const { id, code } = pairings.begin(asker);
    const url = `${withoutSlashes(base)}/cli/${id}`;
    if (asker.channel === "botchat") {
      return {
        text: `The page shows the code \`${code}\`. It opens for 30 minutes, with the sessions of this agent.`,
        webApp: { label: "Open the terminal", url },
      };
    }
    return {
      text:
        `Open ${url} within 10 minutes. The page shows a code: approve only if it is \`${code}\`, ` +
        "or somebody else has opened the link.",
      buttons: [
        { label: "Approve", command: `/cli approve ${code}` },
        { label: "Deny", command: `/cli deny ${code}` },
      ],
    };
  };
  const answer = (asker: Asker, verb: string, code: string): Said => {
    const found = asker.channel === "botchat" ? undefined : pairings.byCode(asker, code);
    if (!found) return { text: UNKNOWN_CODE };
    if (verb === "deny") {
      pairings.deny(found.id);
      return { text: "Denied. The page is closed." };
    }
    if (found.state === "approved") return { text: "It is approved already." };
    if (found.state === "denied") return { text: UNKNOWN_CODE };
    return { text: pairings.approve(found.id) ? "Approved. The page opens the terminal." : NOT_OPENED };
  };

  return async ({ agent, text, isDirect, ...from }: ChatMessage): Promise<Said | undefined> => {
    const channel = CLI_CHANNELS.find((name) => name === from.channel);
    if (!channel || !(await hasTerminal(agent))) return undefined;
    const asker: Asker = { agentId: agent.id, channel, chatId: from.chatId, senderId: from.senderId };
    if (!isDirect) return { text: NOT_DIRECT };
    if (!(await isListed(agent, asker))) return { text: NOT_LISTED };
    const match = CLI.exec(text.trim());
    const verb = match?.[1]?.toLowerCase();
    const code = match?.[2];
    if (match && verb === undefined) {
      const base = publicUrl();
      return base === undefined ? { text: NO_ADDRESS } : offer(asker, base);
    }
    if ((verb !== "approve" && verb !== "deny") || code === undefined) return { text: USAGE };
    return answer(asker, verb, code);
  };
}
