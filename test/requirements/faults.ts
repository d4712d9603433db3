/** What a fault of a moment may cost: time, never a message, a chat or a file. */
export const faults: Record<string, string> = {
  "FAULT-1":
    "A read of the database that fails delays the messages and replies of a chat; each is still handled once.",
  "FAULT-2": "A reply whose file cannot be opened for the moment is sent later.",
  "FAULT-3": "No progress message is put out once the reply is.",
};
