import type { FeedEvent } from "@agent-gateway/contract";

/** What each type of event says, in words. A type that is not here is shown by its name alone. */
const WORDS: Readonly<Record<string, string>> = {
  "message.received": "A message came",
  "turn.started": "The agent began to answer",
  "turn.finished": "The agent answered",
  "turn.failed": "The agent could not answer",
  "session.created": "A session began",
  "session.deleted": "A session was deleted",
  "session.restarted": "The agent's process was restarted",
  "channel.connected": "A channel is connected",
  "channel.disconnected": "A channel lost its connection",
  "channel.knock": "Someone asked to be let in",
  "delivery.failed": "A reply was refused",
  "delivery.unknown": "A reply may not have arrived",
  "cron.finished": "A scheduled job ran",
  "incident.opened": "An agent is in trouble",
  "incident.closed": "An agent's trouble is over",
  "connector.connected": "A connector is connected",
  "connector.disconnected": "A connector was disconnected",
  "agent.created": "An agent was created",
  "agent.updated": "An agent was changed",
  "agent.deleted": "An agent was deleted",
  "config.reloaded": "The configuration was read again",
  "config.refused": "A change of the configuration was refused",
  "package.updated": "A program was updated",
  "gateway.started": "The gateway started",
  "gateway.stopping": "The gateway is stopping",
};

/** What events can be about, as the filter names it. */
export const TOPICS = [
  ["message", "Messages"],
  ["turn", "Answers"],
  ["session", "Sessions"],
  ["channel", "Channels"],
  ["delivery", "Replies that did not arrive"],
  ["cron", "Scheduled jobs"],
  ["incident", "Incidents"],
  ["connector", "Connectors"],
  ["agent", "Agents"],
  ["config", "Configuration"],
  ["package", "Updates"],
  ["gateway", "Gateway"],
] as const;

/** An event's own words; nothing for a type that this page does not know. */
export const wordsOf = (type: string): string => (Object.hasOwn(WORDS, type) ? (WORDS[type] as string) : "");

export const topicOf = ({ type }: FeedEvent): string => type.split(".", 1)[0] as string;

/** More than this says nothing in a line. */
const MOST_CHARS = 200;
/** What people call a figure; others keep their names. Ids of requests are for the log. */
const NAMES = new Map([
  ["chatId", "chat"],
  ["sessionId", "session"],
]);
const HIDDEN = ["agentId", "requestId"];
const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/;

const shown = (value: unknown): string => {
  if (typeof value === "object") return JSON.stringify(value);
  const text = String(value);
  return UUID.test(text) ? text.slice(0, 8) : text;
};

/** The event's figures in a line, without those that are shown elsewhere. */
export function detailsOf({ data }: FeedEvent): string {
  const text = Object.entries(data)
    .filter(
      ([name, value]) => !HIDDEN.includes(name) && value !== null && value !== undefined && value !== "",
    )
    .map(([name, value]) => `${NAMES.get(name) ?? name} ${shown(value)}`)
    .join(", ");
  return text.length > MOST_CHARS ? `${text.slice(0, MOST_CHARS)}…` : text;
}
