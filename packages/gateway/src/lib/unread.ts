/** Questions of a program that may wait for their answers, or answers that may wait to be read, before it is heard on. */
const MOST_OPEN = 64;

/**
 * Keeps a program from asking faster than it is answered: while too many of its questions are open, or their answers
 * unread, its output is not read. It holds up nobody but itself, and costs the gateway a bounded amount of memory.
 * @returns what each answer goes through: `work` resolves when the answer was written and there is room for the next.
 */
export function createUnreadLimit(output: {
  pause(): void;
  resume(): void;
}): (work: Promise<unknown>) => void {
  let open = 0;
  const done = () => {
    open--;
    if (open === MOST_OPEN - 1) output.resume();
  };
  return (work) => {
    open++;
    if (open === MOST_OPEN) output.pause();
    work.then(done, done);
  };
}
