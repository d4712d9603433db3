import type { CallReply } from "@agent-gateway/contract";

export type Agent = CallReply<"listAgents">["agents"][number];
export type Session = CallReply<"listSessions">["sessions"][number];
export type UsageReport = CallReply<"showUsage">;
/** A session as the list of all agents' sessions tells it. */
export type SessionRecord = CallReply<"allSessions">["agents"][number]["sessions"][number];
export type SessionInfo = CallReply<"sessionInfo">;
export type Chat = CallReply<"listChats">["chats"][number];
export type Message = CallReply<"listMessages">["messages"][number];
export type Model = CallReply<"listModels">["models"][number];
export type Command = CallReply<"commands">["commands"][number];
export type Status = CallReply<"status">;
export type Activity = NonNullable<Status["activity"]>;
export type PackageRecord = CallReply<"listPackages">["packages"][number];
export type Release = CallReply<"packageChangelog">["entries"][number];
export type Processes = CallReply<"processes">;
export type CommandReply = Extract<CallReply<"sendMessage">, { command: string }>;
export type ChannelState = CallReply<"listChannels">["channels"][number];
export type DeviceAccount = CallReply<"listDeviceAccounts">["accounts"][number];
export type DeviceStatus = CallReply<"deviceStatus">;
export type Connector = CallReply<"listConnectors">["connectors"][number];
export type TestedConnector = CallReply<"testConnector">;
/** A file that an agent shared. */
export type SharedFile = NonNullable<Message["attachments"]>[number];
