/** A value that is created on first use. */
export type Lazy<T> = () => T;

/**
 * Creates a value on the first call and returns the same one from then on. Schemas are declared this way because a
 * start loads all of them and needs hardly any.
 * @example export const done = lazy(() => z.object({ ok: z.literal(true) }));
 */
export function lazy<T extends object>(make: () => T): Lazy<T> {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
