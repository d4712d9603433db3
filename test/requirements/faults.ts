/** What a fault of a moment may cost: time, never a message, a chat or a file. */
export const faults: Record<string, string> = {
  "FAULT-1":
    "A read of the database that fails delays the messages and replies of a chat; each is still handled once.",
  "FAULT-2": "A reply whose file cannot be opened for the moment is sent later.",
  "FAULT-3": "No progress message is put out once the reply is.",
  "FAULT-4": "A media folder that could not be counted once takes files all the same afterwards.",
  "FAULT-5":
    "A session's process keeps its temp folder when that of the process before it, which ends late, is removed.",
  "FAULT-6":
    "A process that was still starting when its agent's configuration changed serves no turn of the changed agent.",
  "FAULT-7":
    "Credentials of a linked device that cannot be read leave it linked: they are not removed, and it is tried again.",
  "FAULT-8": "An agent program that could not be asked once for what it can do is asked again.",
  "FAULT-9": "A look for leftover processes that fails is made again when the next program ends.",
};
