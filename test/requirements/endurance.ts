/** What holds when the machine, the clock, a provider, a reader or an agent behaves badly. */
export const endurance: Record<string, string> = {
  "CH-STOP-1":
    "SIGTERM while a message's files are being fetched ends the gateway within 5 s; the next start runs one turn and sends one reply.",
  "ACT-2":
    "Wherever the gateway is killed while a chat message's turn uses a tool, the tool runs at most once.",
};
