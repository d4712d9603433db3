/** A value that is made by the first call. */
export interface Once<T> {
  /** Every call gets the same value. After a failure, the next call tries again. */
  (): Promise<T>;
  /** The value if it has been made. */
  readonly made: T | undefined;
  /** The attempt that is under way or has succeeded. */
  readonly begun: Promise<T> | undefined;
}

/** Makes something when it is first needed, and only once. */
export function once<T>(make: () => Promise<T>): Once<T> {
  let made: T | undefined;
  let begun: Promise<T> | undefined;
  const begin = async (): Promise<T> => {
    try {
      made = await make();
      return made;
    } catch (error) {
      begun = undefined;
      throw error;
    }
  };
  const get = () => {
    begun ??= begin();
    return begun;
  };
  return Object.defineProperties(get, {
    made: { get: () => made },
    begun: { get: () => begun },
  }) as Once<T>;
}
