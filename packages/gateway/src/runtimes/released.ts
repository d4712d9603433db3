import type { RuntimeSession } from "./types.ts";

/** Calls `release` once the session's process is gone; `close` waits for it. */
export function releasedWith(session: RuntimeSession, release: () => Promise<void>): RuntimeSession {
  void session.closed.then(release);
  const close = session.close.bind(session);
  return Object.assign(session, {
    async close() {
      await close();
      await release();
    },
  });
}
