/** What a configuration pays for: nothing that it does not use. */
export const bareStart: Record<string, string> = {
  "BARE-1":
    "Without a channel and without unsettled messages, the start, a changed configuration, the housekeeping, the metrics and the stop load nothing of the channels and write nothing for them.",
  "BARE-2":
    "Messages that a crash left unsettled are decided about at the start, also when no agent has the channel any more.",
  "BARE-3": "A channel that is switched on while the gateway runs is loaded and connected.",
  "BARE-4": "A stop while the channels are being loaded leaves nothing connected and takes nothing in.",
  "BARE-5": "Code that cannot be loaded is logged, and tried again with the next occasion.",
};
