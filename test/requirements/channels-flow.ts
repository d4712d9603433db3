/** What every channel does with messages and replies: document 2, contract section 10. */
export const channelsFlow: Record<string, string> = {
  "CH-FLOW-1":
    "Messages are normalised and forwarded to the agent by one path for every channel; history keeps them under `<channel>-<chat id>`.",
  "CH-FLOW-2":
    "Per chat, messages are handled in order; what arrives during a turn waits its turn, one turn each.",
  "CH-FLOW-3": "Several chats run side by side.",
  "CH-FLOW-4": "Each event of a provider is taken once, by the provider's id, also across restarts.",
  "CH-FLOW-5":
    "The agent sees `<channel_message …>` with all values XML-escaped, so that no sender can forge it.",
  "CH-FLOW-6": "`coalesceMs` joins messages of one sender into one turn; 0, the default, keeps them apart.",
  "CH-FLOW-7": "A turn that fails is answered with a sentence.",
  "CH-FLOW-8": "Revoking takes effect on the next message.",
  "CH-FLOW-9":
    "A token that comes later reconnects that channel alone, without a restart; replies wait for it.",
  "CH-FLOW-10": "Policies in the blocks of `botchat` and `guildchat` are what their access file begins with.",
  "CH-FLOW-11": "Text that comes over the API cannot pass for a channel's message to the agent.",
  "CH-CMD-1": "Slash commands work in every channel for users allowed there, on the chat's latest session.",
  "CH-CMD-2": "`/stop` works on a busy session; messages that wait keep their turn.",
  "CH-CMD-3": "`/model` shows a picker with buttons where the provider has them.",
  "CH-CMD-5": "The chat that ran `/restart` is told once when the agent is back.",
  "CH-OUT-1": "A send whose connection broke after the request was written is `unknown` and never repeated.",
  "CH-OUT-2": "429 with `retry_after` is obeyed.",
  "CH-OUT-3": "5xx and a provider that is down are tried again; order within the chat stays.",
  "CH-OUT-4": "A definite refusal is `failed` and holds nothing up.",
  "CH-OUT-5": "Long texts are split within the provider's limit.",
  "CH-OUT-6": "Images go out as images, files as files.",
  "CH-OUT-7": "A long turn shows what there is so far where the provider allows edits.",
  "CH-FAULT-1": "A provider that is down for a while costs no message, on any channel.",
  "CH-FAULT-2": "A slow provider neither doubles nor reorders anything.",
  "CH-FAULT-3": "An answer that breaks off leaves its send uncertain, and it is not repeated.",
  "CH-CLOCK-1": "A clock that is set on or back holds nothing up, loses nothing and repeats nothing.",
  "CH-CRASH-1": "The webhook's 200 means that the event is on disk and survives `kill -9`.",
  "CH-CRASH-2": "After a crash a turn runs again only if the agent had produced nothing.",
  "CH-CRASH-3": "Else what text there was goes out with one sentence that the answer was interrupted.",
  "CH-CRASH-4": "A reply that was being sent when the gateway died is `unknown`.",
  "CH-CRASH-6": "Killed at any step of intake, a gateway loses no message and answers none twice.",
  "CH-CRASH-7":
    "Killed at any step of delivery, a gateway lets no message arrive twice, and keeps the order of a chat.",
  "CH-OUT-8":
    "With providers that answer 429 and 5xx, break connections and repeat events, nothing is lost or doubled.",
  "CH-CRASH-5": "SIGTERM puts a message back whose turn had given nothing.",
};
