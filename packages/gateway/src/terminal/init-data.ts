import { createHmac, hash, timingSafeEqual } from "node:crypto";
import { isRecord } from "../lib/is-record.ts";

const MAX_AGE_MS = 300_000;
/** The provider's clock may be ahead of ours. */
const MAX_AHEAD_MS = 60_000;
const HEX_SHA256 = /^[0-9a-f]{64}$/;

/** Who opened a web app, as the provider has signed it. */
export interface InitData {
  userId: string;
  /** Identifies it: the same data is taken once. */
  digest: string;
}

/**
 * Reads the data that a web app of `botchat` starts with; undefined when its signature, its age or its form is wrong.
 * @see https://core.telegram.org/bots/webapps#validating-data-received-via-the-mini-app
 * @param now Unix ms
 */
export function readInitData(text: string, botToken: string, now: number): InitData | undefined {
  const fields = new URLSearchParams(text);
  const names = [...fields.keys()];
  // Which of two values is signed would be open.
  if (new Set(names).size !== names.length) return undefined;
  const signature = fields.get("hash") ?? "";
  if (!HEX_SHA256.test(signature)) return undefined;
  fields.delete("hash");
  const signed = Array.from(fields, ([name, value]) => `${name}=${value}`)
    .sort()
    .join("\n");
  const secret = createHmac("sha256", "WebAppData").update(botToken).digest();
  const expected = createHmac("sha256", secret).update(signed).digest();
  if (!timingSafeEqual(expected, Buffer.from(signature, "hex"))) return undefined;

  const date = fields.get("auth_date") ?? "";
  if (!/^\d{1,12}$/.test(date)) return undefined;
  const age = now - Number(date) * 1000;
  if (age > MAX_AGE_MS || age < -MAX_AHEAD_MS) return undefined;
  const userId = idOf(fields.get("user"));
  return userId === undefined ? undefined : { userId, digest: hash("sha256", signature, "hex") };
}

function idOf(user: string | null): string | undefined {
  try {
    const parsed: unknown = JSON.parse(user ?? "");
    if (!isRecord(parsed) || !Number.isSafeInteger(parsed.id)) return undefined;
    return String(parsed.id);
  } catch {
    return undefined;
  }
}

/** Remembers what was taken for as long as it would be valid. */
export function createTakenOnce(clock: { elapsed(): number }) {
  const taken = new Map<string, number>();
  /** False when it was taken before. */
  return (digest: string): boolean => {
    const now = clock.elapsed();
    for (const [known, until] of taken) {
      if (until > now) break;
      taken.delete(known);
    }
    if (taken.has(digest)) return false;
    taken.set(digest, now + MAX_AGE_MS + MAX_AHEAD_MS);
    return true;
  };
}
