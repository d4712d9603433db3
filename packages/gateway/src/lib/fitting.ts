/** How many of the sizes, from the first, add up to at most `most`; one at least, if there is any. */
export function countFitting(sizes: readonly number[], most: number): number {
  let sum = 0;
  const over = sizes.findIndex((size, index) => {
    sum += size;
    return index > 0 && sum > most;
  });
  return over === -1 ? sizes.length : over;
}
