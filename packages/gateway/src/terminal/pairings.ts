import { hash, randomBytes } from "node:crypto";
import type { Clock } from "../lib/clock.ts";
import { mintCode, sameCode } from "../lib/short-code.ts";

const LIFETIME_MS = 600_000;
/** How long a viewer is open from its approval on. */
const VIEW_MS = 1_800_000;
const MAX_PER_AGENT = 5;

/** Who asked for a viewer, and where. */
export interface Asker {
  agentId: string;
  channel: "botchat" | "guildchat" | "sigchat";
  /** The provider's ids. */
  chatId: string;
  senderId: string;
}

export type PairingState = "waiting" | "approved" | "denied";

/** A viewer that somebody asked for in a chat. */
export interface Pairing {
  /** Part of its link; no credential. */
  readonly id: string;
  /** The chat and the page show it, so that a person can compare. */
  readonly code: string;
  readonly asker: Asker;
  readonly state: PairingState;
  /** Unix ms. */
  readonly expiresAt: number;
}

interface Kept extends Pairing {
  state: PairingState;
  expiresAt: number;
  /** The clock's `elapsed` at its end. */
  until: number;
  /** SHA-256 of the token of the browser that it belongs to. */
  browser: string | undefined;
  /** Token of its viewer, which that browser may ask for more than once. */
  viewer: string | undefined;
}

export interface Pairings {
  /** Begins one; the oldest of the agent ends when it has too many. */
  begin(asker: Asker): Pairing;
  /** Undefined when it is unknown or over. */
  find(id: string): Pairing | undefined;
  /** The token for the first browser that asks; undefined for every other. */
  bind(id: string): string | undefined;
  /** Whether the browser with this token is the one that it belongs to. */
  isBrowser(id: string, token: string | undefined): boolean;
  /** Opens the viewer. False unless it waits, and a browser has opened its link. */
  approve(id: string): boolean;
  /** Refuses it, or closes its viewer. */
  deny(id: string): void;
  /** The one with this code that this person asked for in this chat. */
  byCode(asker: Asker, code: string): Pairing | undefined;
  /** The token for its viewer, once it is approved. */
  viewerToken(id: string): string | undefined;
  isViewer(id: string, token: string | undefined): boolean;
  /** Whether its viewer may go on. */
  isOpen(id: string): boolean;
  /** Ends it; its link leads nowhere from then on. */
  end(id: string): void;
}

const digestOf = (token: string) => hash("sha256", token, "base64");
const newToken = () => randomBytes(32).toString("base64url");

/** Pairings live in memory, oldest first. */
export function createPairings(clock: Clock): Pairings {
  const known = new Map<string, Kept>();

  const get = (id: string): Kept | undefined => {
    const found = known.get(id);
    if (!found || found.until > clock.elapsed()) return found;
    known.delete(id);
    return undefined;
  };
  const sweep = () => {
    for (const id of [...known.keys()]) get(id);
  };
  const ofAgent = (agentId: string) => [...known.values()].filter(({ asker }) => asker.agentId === agentId);
  const isAsker = (a: Asker, b: Asker) =>
    a.agentId === b.agentId && a.channel === b.channel && a.chatId === b.chatId && a.senderId === b.senderId;

  return {
    begin(asker) {
      sweep();
      const own = ofAgent(asker.agentId);
      for (const { id } of own.slice(0, Math.max(0, own.length + 1 - MAX_PER_AGENT))) known.delete(id);
      const pairing: Kept = {
        id: randomBytes(16).toString("hex"),
        code: mintCode(new Set(own.map(({ code }) => code))),
        asker,
        state: "waiting",
        expiresAt: clock.now() + LIFETIME_MS,
        until: clock.elapsed() + LIFETIME_MS,
        browser: undefined,
        viewer: undefined,
      };
      known.set(pairing.id, pairing);
      return pairing;
    },
    find: get,
    bind(id) {
      const pairing = get(id);
      if (!pairing || pairing.browser !== undefined) return undefined;
      const token = newToken();
      pairing.browser = digestOf(token);
      return token;
    },
    isBrowser(id, token) {
      const browser = get(id)?.browser;
      return token !== undefined && browser !== undefined && browser === digestOf(token);
    },
    approve(id) {
      const pairing = get(id);
      // Approved before it is opened, the link alone would open the viewer.
      if (pairing?.state !== "waiting" || pairing.browser === undefined) return false;
      pairing.state = "approved";
      pairing.viewer = newToken();
      pairing.expiresAt = clock.now() + VIEW_MS;
      pairing.until = clock.elapsed() + VIEW_MS;
      return true;
    },
    deny(id) {
      const pairing = get(id);
      if (!pairing) return;
      pairing.state = "denied";
      pairing.viewer = undefined;
    },
    byCode(asker, code) {
      sweep();
      return ofAgent(asker.agentId).find((one) => sameCode(one.code, code) && isAsker(one.asker, asker));
    },
    viewerToken: (id) => get(id)?.viewer,
    isViewer(id, token) {
      const viewer = get(id)?.viewer;
      return token !== undefined && viewer !== undefined && digestOf(viewer) === digestOf(token);
    },
    isOpen: (id) => get(id)?.state === "approved",
    end: (id) => void known.delete(id),
  };
}
