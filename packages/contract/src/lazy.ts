/** Something that is made when it is first asked for. */
export type Lazy<T> = () => T;

/**
 * Makes a value at the first call and gives the same one from then on. Schemas are declared this way because a start
 * loads all of them and needs hardly one.
 * @example export const done = lazy(() => z.object({ ok: z.literal(true) }));
 */
export function lazy<T extends object>(make: () => T): Lazy<T> {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
