import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

/** Who can be behind an address: anybody, this machine or its network, or nobody that a sign-in has to do with. */
export type Place = "public" | "local" | "refused";

const LOCAL_RANGES = new Set(["loopback", "private", "uniqueLocal", "carrierGradeNat"]);
/** Where a cloud gives credentials to its machines; in the range of private addresses. */
const METADATA = ipaddr.IPv6.parse("fd00:ec2::254").toString();
const LOCAL_ENDINGS = [".localhost", ".local", ".lan", ".internal", ".home.arpa"];

/** Judges an IP address, without brackets. Link-local, multicast, unspecified and reserved ones are `refused`. */
export function placeOf(address: string): Place {
  if (isIP(address) === 0) return "refused";
  // An IPv4 address that is mapped into IPv6 counts as what it stands for.
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv4) return rangePlace(parsed.range());
  if (parsed.toString() === METADATA) return "refused";
  const range = parsed.range();
  // Networks without IPv4 reach all of it through this prefix, so it may stand for a public address only.
  if (range === "rfc6052") {
    const inner = ipaddr.fromByteArray(parsed.toByteArray().slice(12)) as ipaddr.IPv4;
    return inner.range() === "unicast" ? "public" : "refused";
  }
  return rangePlace(range);
}

const rangePlace = (range: string): Place =>
  range === "unicast" ? "public" : LOCAL_RANGES.has(range) ? "local" : "refused";

/** The host of a URL as a name or an address without brackets, and without the dot that ends a full name. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "");

/** Whether a host is this machine or in its network by what it is called; a name is not looked up. */
export function isLocalHost(host: string): boolean {
  if (isIP(host) !== 0) return placeOf(host) === "local";
  return host === "localhost" || !host.includes(".") || LOCAL_ENDINGS.some((ending) => host.endsWith(ending));
}

/**
 * What is wrong with an address that a server named, as the end of a sentence; undefined if it may be used.
 * @param local whether the connector's own host is local
 */
export function faultOf(url: URL, local: boolean): string | undefined {
  if (url.protocol !== "https:" && !(local && url.protocol === "http:")) return "is not https";
  if (url.username || url.password) return "has credentials in it";
  const host = hostOf(url);
  const place = isIP(host) === 0 ? (isLocalHost(host) ? "local" : "public") : placeOf(host);
  if (place === "refused" || (place === "local" && !local)) return "is not public";
  return undefined;
}
