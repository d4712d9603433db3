import { createRequire } from "node:module";

/** A session of the cipher, as its library keeps it. */
interface Session {
  serialize(): unknown;
}

interface Cipher {
  doDecryptWhisperMessage(message: Uint8Array, session: Session | undefined): Promise<unknown>;
}

const repaired = new WeakSet<object>();

/**
 * Makes an attempt to decipher leave no trace in a session when it fails. The cipher library tries a message with
 * one session after another, each attempt moves its session on before it knows whether the message belongs to it,
 * and the one that succeeds stores them all: what comes in or goes out with the others cannot be read any more. The
 * channel's library begins a new session with each connection, so that there are always several.
 */
export function repairCipher(): void {
  const load = createRequire(import.meta.resolve("baileys"));
  const { SessionCipher } = load("libsignal") as { SessionCipher: { prototype: Cipher } };
  const cipher = SessionCipher.prototype;
  if (repaired.has(cipher)) return;
  repaired.add(cipher);
  const attempt = cipher.doDecryptWhisperMessage;
  cipher.doDecryptWhisperMessage = async function (message, session) {
    const before = session?.serialize();
    try {
      return await attempt.call(this, message, session);
    } catch (error) {
      if (session) {
        const { deserialize } = session.constructor as unknown as { deserialize(data: unknown): object };
        Object.assign(session, deserialize.call(session.constructor, before));
      }
      throw error;
    }
  };
}
