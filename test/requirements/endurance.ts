/** What holds when the machine, the clock, a provider, a reader or an agent behaves badly. */
export const endurance: Record<string, string> = {
  "CH-STOP-1":
    "SIGTERM while a message's files are being fetched ends the gateway within 5 s; the next start runs one turn and sends one reply.",
  "CH-HOOK-16":
    "Bodies without end, on any webhook, by flood or by drip, cost bounded memory and time, and messages come in meanwhile.",
  "CLOCK-1":
    "Setting the system's clock back or on by hours neither ends nor prolongs a limit, a deadline or a wait.",
  "SHARE-8":
    "However often an agent calls share_file in a turn, at most 200 files are copied or linked, and nothing beyond them; other agents answer meanwhile.",
  "RETRY-6":
    "An ACP agent whose model refuses the key, limits the rate or cannot be reached: the stream shows retry, the 504 tells the cause, and the error names it without addresses.",
  "STALL-1":
    "Fifty readers that stop reading, of any kind of reply, are cut off; other clients are served meanwhile, memory stays bounded and SIGTERM takes less than 5 s.",
  "STALL-2":
    "Requests that a client sends ahead on one connection run one after another, as their replies go out; beyond 32 that wait, the connection is closed.",
  "STALL-3":
    "While 64 MiB wait for the clients of one key to read them, its next requests are 429 RATE_LIMITED.",
  "ACT-2":
    "Wherever the gateway is killed while a chat message's turn uses a tool, the tool runs at most once.",
};
