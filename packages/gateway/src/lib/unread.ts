/** Questions of a program that may wait for their answers, or answers that may wait to be read, before it is heard on. */
const MOST_OPEN = 64;
/** What they may weigh together, in characters. */
const MOST_CHARS = 8 * 1024 * 1024;

/**
 * Keeps a program from asking faster than it is answered: while too many of its questions are open, or too much of
 * their answers is unread, its output is not read. It holds up nobody but itself, and costs the gateway a bounded amount
 * of memory.
 * @returns what each answer goes through: `work` resolves when the answer was written and there is room for the next;
 * `chars` is the length of the question, or of the answer where that is longer.
 */
export function createUnreadLimit(output: {
  pause(): void;
  resume(): void;
}): (work: Promise<unknown>, chars: number) => void {
  let open = 0;
  let weight = 0;
  let paused = false;
  const look = () => {
    const full = open >= MOST_OPEN || weight > MOST_CHARS;
    if (full === paused) return;
    paused = full;
    if (full) output.pause();
    else output.resume();
  };
  return (work, chars) => {
    open++;
    weight += chars;
    look();
    const done = () => {
      open--;
      weight -= chars;
      look();
    };
    work.then(done, done);
  };
}
