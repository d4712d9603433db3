/** Channels that have `/cli`. */
export const CLI_CHANNELS = ["botchat", "guildchat", "sigchat"] as const;
/** How chats list it. */
export const CLI_COMMAND = { name: "/cli", description: "Open the agent's terminal in a browser." };
