/** Runs tasks of one key one after another; a failed task does not stop the next. */
export function createMutex(): <T>(task: () => Promise<T> | T) => Promise<T> {
  let tail: Promise<unknown> = Promise.resolve();
  return (task) => {
    const run = tail.then(task, task);
    tail = run.catch(() => {});
    return run;
  };
}
