/** An address without the slashes at its end, so that a path can be put behind it. */
export function withoutSlashes(address: string): string {
  let end = address.length;
  while (address[end - 1] === "/") end--;
  return address.slice(0, end);
}
