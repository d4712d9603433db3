import { openDownload } from "../support/download.ts";
import { deadline, jsonOf } from "../support/exchange.ts";
import { createNames } from "../support/names.ts";
import type { AdapterFactory, InboundMessage, Target } from "../types.ts";
import { createApi, PROVIDER } from "./api.ts";
import { createSender, repeatable } from "./send.ts";

/** The animation ends by itself after this, or when a message arrives; 5 to 60 in steps of 5. */
const LOADING_SECONDS = 60;
/** Shown again a little before it ends. */
const LOADING_AGAIN_MS = 55_000;
const CALL_MS = 10_000;

/** A LINE account: events arrive by webhook, so there is nothing to connect to. */
export const createAdapter: AdapterFactory = async ({ agent, clock, publicLink }) => {
  const api = createApi(agent.sigchat ?? {});
  const closing = new AbortController();
  const send = createSender({ api, clock, publicLink });
  const names = createNames({ clock, signal: closing.signal });

  const showLoading = async (chatId: string) => {
    const late = deadline(clock, CALL_MS, closing.signal);
    const body = { chatId, loadingSeconds: LOADING_SECONDS };
    await api.post("/v2/bot/chat/loading/start", body, late.signal).catch(() => {});
    late.end();
  };

  return {
    send,
    repeatable: (outgoing) => repeatable(outgoing, clock.now()),

    working({ chatId }: Target) {
      // Groups and rooms have no such animation.
      if (!isUser(chatId)) return () => {};
      void showLoading(chatId);
      return clock.every(LOADING_AGAIN_MS, () => void showLoading(chatId));
    },

    nameOf(message: InboundMessage) {
      const path = profilePath(message);
      if (path === undefined) return Promise.resolve(undefined);
      return names(path, async (signal) => {
        const answer = await api.get(path, signal);
        return answer.status === 200 ? jsonOf(answer)?.displayName : undefined;
      });
    },

    fetchMedia({ ref }, signal) {
      return openDownload({
        ...api.blob(String(ref.messageId)),
        signal,
        provider: PROVIDER,
        refuse: ({ status }) => (status === 202 ? "LINE is still preparing it" : undefined),
      });
    },

    async close() {
      closing.abort();
    },
  };
};

const isUser = (id: string) => id.startsWith("U");

/** Where the sender's profile lies; members who do not share theirs come under the group's own id. */
function profilePath({ kind, groupId, senderId }: InboundMessage): string | undefined {
  if (!isUser(senderId)) return undefined;
  const user = encodeURIComponent(senderId);
  if (kind === "dm" || groupId === undefined) return `/v2/bot/profile/${user}`;
  return `/v2/bot/${kind}/${encodeURIComponent(groupId)}/member/${user}`;
}
