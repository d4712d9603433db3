import { createHash, randomBytes, randomUUID } from "node:crypto";
import { basename, resolve } from "node:path";
import type { Attachment } from "@agent-gateway/contract";
import { GatewayError } from "@agent-gateway/contract";
import type { AgentConfig, ConfigStore, Paths } from "../config/index.ts";
import type { Clock } from "../lib/clock.ts";
import { detectFile, type FileType } from "../lib/file-type.ts";
import { identityOf, type OpenedFile, openPinned, openWithin } from "../lib/guarded/index.ts";
import type { Logger } from "../lib/logger.ts";
import { PathError } from "../lib/safe-path.ts";
import type { SharedFile, Store } from "../store/index.ts";
import { createShareTools, type KeptFile, type ShareTool } from "./tool.ts";

export type { ShareTool } from "./tool.ts";

export interface ShareDeps {
  store: Pick<Store, "shares" | "forAgent">;
  paths: Pick<Paths, "mediaDir">;
  config: Pick<ConfigStore, "current">;
  clock: Clock;
  log: Logger;
  /** From the media room: copies an image into the agent's media folder; resolves to its URL path for clients. */
  keepImage(agentId: string, file: Pick<OpenedFile, "handle">): Promise<string>;
  /** From the media room: copies a file into the agent's media folder, so that it can be sent later unchanged. */
  keepFile(agentId: string, file: Pick<OpenedFile, "handle">, name: string): Promise<KeptFile>;
}

/** A file on its way into a chat. */
export interface OutgoingFile {
  /** Absolute path of the gateway's own copy. */
  path: string;
  name: string;
  mime: string;
}

/** The session that a tool is called in. */
export interface ShareToolScope extends ShareScope {
  onAttachment(attachment: Attachment): void;
  /** Counts a file; throws a message for the agent when there may be no more. */
  takeShare(): void;
  /** Set if the session belongs to a chat that accepts files. */
  onFile?: ((file: OutgoingFile) => void) | undefined;
}

/** The session whose files are shared. */
export interface ShareScope {
  readonly agentId: string;
  readonly sessionId: string;
  /** Absolute. */
  readonly sessionDir: string;
}

/** A new share. `url` is set if the gateway has a public URL. */
export interface ShareItem {
  share_id: string;
  /** 32 random bytes as base64url; returned only once. */
  token: string;
  url?: string;
  /** Unix milliseconds. */
  expires_at: number;
}

/** What a share stores about its file. */
interface Shared {
  path: string;
  identity: string;
}
const sharedOf = ({ path, stats }: OpenedFile): Shared => ({ path, identity: identityOf(stats) });

async function take(opening: Promise<OpenedFile>): Promise<Shared> {
  const file = await opening;
  await file.handle.close();
  return sharedOf(file);
}

const TOKEN = /^[A-Za-z0-9_-]{43}$/;
const SWEEP_MS = 10 * 60_000;
export const DEFAULT_TTL_SECONDS = 1800;
/** Providers fetch linked files when a message is sent or first viewed. */
const LINK_TTL_SECONDS = 86_400;

const hashOf = (token: string) => createHash("sha256").update(token).digest("hex");
const nothing = () => new GatewayError("NOT_FOUND");

/** Short-lived public links to single files. */
export function createShares({ store, paths, config, clock, log, keepImage, keepFile }: ShareDeps) {
  const { shares } = store;
  // A change of the public URL needs a restart, so it is read once.
  const base = config.current.gateway.publicUrl;

  const agentOf = (agentId: string): AgentConfig | undefined =>
    config.current.agents.find(({ id }) => id === agentId);

  const openScoped = ({ agentId, sessionDir }: ShareScope, path: string): Promise<OpenedFile> => {
    const agent = agentOf(agentId);
    if (!agent) throw new GatewayError("AGENT_NOT_FOUND");
    return openWithin([agent.workspace, sessionDir, paths.mediaDir(agentId)], path);
  };

  const add = async (scope: ShareScope, files: readonly Shared[], ttlSeconds: number) => {
    const now = clock.now();
    const expires_at = now + ttlSeconds * 1000;
    const minted = files.map((file) => ({
      id: randomUUID(),
      token: randomBytes(32).toString("base64url"),
      ...file,
    }));
    await store.forAgent(scope.agentId).commit(
      ...minted.map(({ id, token, path, identity }) =>
        shares.add({
          id,
          tokenHash: hashOf(token),
          agentId: scope.agentId,
          session: scope.sessionId,
          path,
          identity,
          expiresAt: expires_at,
          createdAt: now,
        }),
      ),
    );
    return minted.map(
      ({ id, token }): ShareItem => ({
        share_id: id,
        token,
        ...(base !== undefined && { url: `${base}/shared/${token}` }),
        expires_at,
      }),
    );
  };

  /** The file behind a token that is valid now. */
  const find = async (token: string): Promise<SharedFile | undefined> => {
    const found = await shares.byToken(hashOf(token), clock.now());
    return found && agentOf(found.agentId) ? found : undefined;
  };

  return {
    /** Path below which the public URL reaches this gateway: `/gateway`; undefined without a public URL. */
    publicPath: base === undefined ? undefined : new URL(base).pathname,

    /**
     * Creates one share per path, all or none. A share is for that very file, not for another that takes its place.
     * @throws GatewayError `ARTIFACT_PATH_DENIED` outside workspace, session folder and media folder,
     * `INVALID_REQUEST` if there is no file
     */
    async mint(
      scope: ShareScope,
      refs: readonly { path: string }[],
      ttlSeconds: number = DEFAULT_TTL_SECONDS,
    ): Promise<ShareItem[]> {
      const files: Shared[] = [];
      for (const [index, ref] of refs.entries()) {
        try {
          files.push(await take(openScoped(scope, ref.path)));
        } catch (error) {
          throw error instanceof PathError ? refusal(error, `refs.${index}.path`) : error;
        }
      }
      return add(scope, files, ttlSeconds);
    },

    /**
     * A public https link to one of the agent's files, for a provider that fetches it; undefined where the gateway has
     * no public https URL, or the file is none that the agent may share.
     */
    async link(
      agentId: string,
      path: string,
      ttlSeconds: number = LINK_TTL_SECONDS,
    ): Promise<string | undefined> {
      if (base === undefined || !base.startsWith("https:")) return undefined;
      const scope = { agentId, sessionId: "", sessionDir: paths.mediaDir(agentId) };
      try {
        const file = await take(openScoped(scope, path));
        return (await add(scope, [file], ttlSeconds))[0]?.url;
      } catch (error) {
        if (error instanceof PathError) return undefined;
        throw error;
      }
    },

    /** The agent of a share; undefined if there is no such share. */
    agentOfShare: shares.agentOf,

    async revoke(agentId: string, shareId: string): Promise<void> {
      await store.forAgent(agentId).commit(shares.remove(shareId));
    },

    /**
     * Opens the file behind a token. The caller closes `handle`.
     * @throws GatewayError the same `NOT_FOUND` whether the token is unknown, expired or revoked, or the file gone
     */
    async open(token: string): Promise<OpenedFile & { type: FileType }> {
      if (!TOKEN.test(token)) throw nothing();
      const found = await find(token);
      if (!found || found.identity === null) throw nothing();
      const file = await openPinned(found.path, found.identity).catch((error) => {
        if (!(error instanceof PathError)) log.warn({ err: error }, "could not open a shared file");
        throw nothing();
      });
      try {
        const type = await detectFile(file.handle);
        // It may have been revoked, or have expired, while the file was being opened.
        if (!(await find(token))) throw nothing();
        return { ...file, type };
      } catch (error) {
        await file.handle.close();
        throw error;
      }
    },

    /** The tools `share_file` and `share_image` for a session's agent. */
    tools: (scope: ShareToolScope): ShareTool[] =>
      createShareTools({
        // Relative paths start in the agent's workspace, where it runs.
        open: (path) => openScoped(scope, resolve(agentOf(scope.agentId)?.workspace ?? "/", path)),
        keepImage: (file) => keepImage(scope.agentId, file),
        onAttachment: (attachment) => scope.onAttachment(attachment),
        takeShare: () => scope.takeShare(),
        keepFile: (file) =>
          keepFile(scope.agentId, file, basename(file.path)).catch((error) => {
            if (error instanceof GatewayError && error.code === "PAYLOAD_TOO_LARGE") return undefined;
            throw error;
          }),
        // A session's chat is known at the call, not when its tools are created.
        sendFile: ({ path, name, mime }) => {
          scope.onFile?.({ path, name, mime });
          return scope.onFile !== undefined;
        },
        mint:
          base === undefined
            ? undefined
            : async (file) => (await add(scope, [sharedOf(file)], DEFAULT_TTL_SECONDS))[0]!,
      }),

    /** Removes expired shares. */
    housekeeping: { everyMs: SWEEP_MS, changes: () => [shares.removeExpired(clock.now())] },
  };
}
export type Shares = ReturnType<typeof createShares>;

function refusal({ problem }: PathError, path: string): GatewayError {
  if (problem === "missing" || problem === "not-file") {
    return new GatewayError("INVALID_REQUEST", `${path}: there is no such file.`, {
      details: [{ path, message: "there is no such file" }],
    });
  }
  return new GatewayError("ARTIFACT_PATH_DENIED", undefined, {
    details: [{ path, message: "is outside the folders that the session may share" }],
  });
}
