import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import { createAccess } from "../../../../packages/gateway/src/channels/access/index.ts";
import type {
  ChannelName,
  ChannelPlace,
  InboundMessage,
} from "../../../../packages/gateway/src/channels/types.ts";
import { manualClock } from "../../../fixtures/manual-clock.ts";
import { tempHome } from "../../../fixtures/temp-home.ts";

let events = 0;

/** A message as adapters make it. */
export function message(over: Partial<InboundMessage> = {}): InboundMessage {
  return {
    eventId: `e${events++}`,
    chatId: "111",
    kind: "dm",
    senderId: "111",
    text: "hello",
    mentioned: true,
    ...over,
  };
}

/** The code in a reply. */
export const codeIn = (text: string | undefined): string => /`([A-Z2-9]{6})`/.exec(text ?? "")?.[1] ?? "";

/** The access rules of one agent `a`, on a configuration of their own. */
export async function openAccess(agent: Record<string, unknown> = {}) {
  const home = await tempHome({ gateway: { port: 0 }, agents: [{ id: "a", ...agent }] });
  const config = await home.open({ ID_FROM_ENV: "U999" });
  const clock = manualClock();
  const knocks: ChannelPlace[] = [];
  const deps = {
    config,
    clock,
    log: home.log,
    onKnock: (from: ChannelPlace) => void knocks.push(from),
  };
  let access = createAccess(deps);
  onTestFinished(() => access.close());
  const entry = () => config.current.agents[0]!;
  const place = (channel: ChannelName, account?: string): ChannelPlace => ({
    agentId: "a",
    channel,
    account: account ?? (channel === "devicechat" ? "default" : ""),
  });
  const stateFile = (channel: ChannelName, name: string) =>
    join(entry().workspace, `.${channel}-state`, name);
  return {
    home,
    config,
    clock,
    entry,
    place,
    stateFile,
    /** Where someone knocked for the first time. */
    knocks,
    get access() {
      return access;
    },
    /** Forgets everything in memory, as a restart does. */
    async restart() {
      await access.close();
      access = createAccess(deps);
    },
    decide: (channel: ChannelName, over?: Partial<InboundMessage>, account?: string) =>
      access.decide(place(channel, account), entry(), message(over)),
    knock: (channel: ChannelName, over?: Partial<InboundMessage>, account?: string) =>
      access.knock(place(channel, account), entry(), message(over)),
    admit: (channel: ChannelName, over?: Partial<InboundMessage>) =>
      access.admit(place(channel), entry(), message(over)),
    pending: (channel: ChannelName, account?: string) => access.pending(place(channel, account), entry()),
    read: async (channel: ChannelName, name = "access.json") =>
      JSON.parse(await readFile(stateFile(channel, name), "utf8")) as Record<string, unknown>,
    async put(channel: ChannelName, content: unknown, name = "access.json") {
      const file = stateFile(channel, name);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, typeof content === "string" ? content : JSON.stringify(content));
      return file;
    },
    fileText: () => readFile(home.paths.configFile, "utf8"),
    raw: async () => JSON.parse(await readFile(home.paths.configFile, "utf8")).agents[0],
  };
}
