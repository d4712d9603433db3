/** What may happen to a message of a channel while the store is asked for it. */
export const channelsReads: Record<string, string> = {
  "CH-BETWEEN-1":
    "A message that is put into the outbox, or that comes in, while its chat's last look for more is under way is not left behind.",
  "CH-BETWEEN-2":
    "A reply that is given up, or settled by a receipt, while it is being taken for an attempt is not sent, and what settled it stays.",
  "CH-BETWEEN-3":
    "After a stop, or once its channel is off, no reply that was being taken for an attempt goes out; it waits.",
  "CH-BETWEEN-4": "A reply is never overwritten by the progress of its turn, however late that is shown.",
  "CH-BETWEEN-5": "A receipt settles a message whose outcome changes while the receipt is handled.",
  "CH-BETWEEN-6":
    "What happens while a channel's state is read is in that state: a message that comes or goes meanwhile is the latest.",
  "CH-BETWEEN-7":
    "A message that is settled while it is being taken for a turn has none, puts nothing into history, and is not answered.",
  "CH-BETWEEN-8":
    "Messages that come at the same time while the rules cannot be read share one limit on how many may wait.",
  "CH-BETWEEN-9": "No message that is settled gets a further answer.",
  "CH-BETWEEN-11":
    "A change of the configuration during the start begins nothing before what a crash left behind is decided.",
  "CH-BETWEEN-10":
    "No message is stored for an agent that was removed while it was being decided who may write to it.",
};
