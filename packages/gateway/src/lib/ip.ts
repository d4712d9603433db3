import { isIPv4, isIPv6 } from "node:net";

/** The eight 16-bit groups of an IPv6 address without zone id; undefined if it is not one. */
function groupsOf(address: string): number[] | undefined {
  if (!isIPv6(address)) return undefined;
  // An IPv4 tail counts as two groups.
  const hex = address.replace(/(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/, (_all, a, b, c, d) =>
    [(Number(a) << 8) | Number(b), (Number(c) << 8) | Number(d)].map((part) => part.toString(16)).join(":"),
  );
  const [head = "", tail] = hex.split("::");
  const parse = (part: string) =>
    part === "" ? [] : part.split(":").map((group) => Number.parseInt(group, 16));
  const first = parse(head);
  if (tail === undefined) return first;
  const last = parse(tail);
  return [...first, ...new Array<number>(8 - first.length - last.length).fill(0), ...last];
}

/**
 * What counts as one address: an IPv4 address, also where it is mapped into IPv6, or the /64 of an IPv6 address, since
 * one household or server commands a whole /64. Zone ids are left out. Anything else stands for itself.
 */
export function addressGroup(address: string): string {
  const plain = address.replace(/%.*$/, "");
  if (isIPv4(plain)) return plain;
  const groups = groupsOf(plain);
  if (!groups) return plain;
  const [mark, high, low] = groups.slice(5) as [number, number, number];
  if (mark === 0xffff && groups.slice(0, 5).every((group) => group === 0)) {
    return [high >> 8, high & 255, low >> 8, low & 255].join(".");
  }
  const prefix = groups.slice(0, 4).map((group) => group.toString(16));
  return `${prefix.join(":")}::/64`;
}
