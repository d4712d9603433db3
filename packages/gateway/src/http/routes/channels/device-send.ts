import { basename, isAbsolute } from "node:path";
import type { BodyOf } from "@agent-gateway/contract";
import { GatewayError, type routes } from "@agent-gateway/contract";
import {
  type Access,
  type ChannelPlace,
  type Content,
  type DeviceAdapter,
  deviceAccounts,
  type SendOutcome,
  type Target,
} from "../../../channels/index.ts";
import type { AgentConfig } from "../../../config/index.ts";
import type { Clock } from "../../../lib/clock.ts";
import { detectFile } from "../../../lib/file-type.ts";
import { type OpenedFile, openWithin } from "../../../lib/guarded/index.ts";
import { PathError } from "../../../lib/safe-path.ts";

export interface DeviceSendDeps {
  clock: Pick<Clock, "now">;
  /** The account's adapter, if it has one. */
  findDevice(agentId: string, account: string): DeviceAdapter | undefined;
  /** One attempt, made at once and never repeated. */
  sendNow(place: ChannelPlace, target: Target, content: Content): Promise<SendOutcome>;
  /** Account that received the latest message of a chat. */
  lastInboundAccount(agentId: string, jid: string): Promise<string | undefined>;
  access(): Promise<Pick<Access, "allowed" | "forget">>;
  /** Folders (absolute) that an agent may send files from. */
  roots(agent: AgentConfig): readonly string[];
  /** Subtracts bytes from the disk's free space; throws below the floor. */
  takeSpace(bytes: number): void;
  /** Copies an opened file into the agent's media folder, so that the file that was checked is the one that is sent. */
  keepFile(
    agentId: string,
    file: Pick<OpenedFile, "handle">,
    name: string,
  ): Promise<{ path: string; mime: string; name: string }>;
  /** Splits a text into parts that each fit one message. */
  split(text: string): Promise<string[]>;
}

type Body = BodyOf<typeof routes.sendThroughDevice>;

/** Longer texts do not fit in an image caption. */
const MAX_CAPTION_CHARS = 1_000;

const refused = (path: string, message: string) =>
  new GatewayError("INVALID_REQUEST", undefined, { details: [{ path, message }] });

/** The image at an absolute path that the agent may share. */
async function imageAt(
  { roots, takeSpace, keepFile }: Pick<DeviceSendDeps, "roots" | "takeSpace" | "keepFile">,
  agent: AgentConfig,
  path: string,
  asDocument: boolean,
): Promise<Content> {
  if (!isAbsolute(path)) throw refused("image_path", "must be an absolute path");
  const file = await openWithin(roots(agent), path).catch((error: unknown) => {
    if (!(error instanceof PathError)) throw error;
    if (error.problem === "missing" || error.problem === "not-file") {
      throw refused("image_path", "does not exist");
    }
    throw new GatewayError("ARTIFACT_PATH_DENIED", undefined, {
      details: [{ path: "image_path", message: "is outside what the agent may share" }],
    });
  });
  try {
    const { mime } = await detectFile(file.handle);
    if (!mime.startsWith("image/")) throw refused("image_path", "is not an image");
    takeSpace(file.stats.size);
    const kept = await keepFile(agent.id, file, basename(file.path));
    return { kind: "file", ...kept, mime, ...(asDocument && { asDocument }) };
  } finally {
    await file.handle.close();
  }
}

/** The account that a request names. */
export function accountNamed(agent: AgentConfig, named: string): string {
  if (deviceAccounts(agent).includes(named)) return named;
  throw refused("account_id", "is not configured");
}

/** Sends over a linked device to a chat that its account allows; for the route, and for the agents' tool. */
export function createDeviceSend(deps: DeviceSendDeps) {
  const choose = async (agent: AgentConfig, jid: string): Promise<string> => {
    const known = deviceAccounts(agent);
    const last = await deps.lastInboundAccount(agent.id, jid);
    const chosen = [last, "default", known.length === 1 ? known[0] : undefined].find(
      (id) => id !== undefined && known.includes(id),
    );
    if (chosen === undefined) throw refused("account_id", "is required: the agent has several accounts");
    return chosen;
  };

  return async (agent: AgentConfig, body: Body): Promise<void> => {
    const { jid } = body;
    const account =
      body.account_id === undefined ? await choose(agent, jid) : accountNamed(agent, body.account_id);
    const place: ChannelPlace = { agentId: agent.id, channel: "devicechat", account };
    const device = deps.findDevice(agent.id, account);
    const aliases = (await device?.aliases(jid)) ?? [];
    const access = await deps.access();
    if (!(await access.allowed(place, agent, jid, aliases))) {
      throw new GatewayError("FORBIDDEN", "The account's policies do not allow this chat.");
    }
    const text = body.text?.trim() ? body.text : undefined;
    const contents: Content[] = [];
    if (body.image_path) {
      const image = await imageAt(deps, agent, body.image_path, body.as_document === true);
      const caption = text !== undefined && text.length <= MAX_CAPTION_CHARS ? { caption: text } : {};
      contents.push({ ...image, ...caption } as Content);
    }
    if (text !== undefined && !(body.image_path && text.length <= MAX_CAPTION_CHARS)) {
      const parts = await deps.split(text);
      contents.push(...parts.map((part) => ({ kind: "text" as const, text: part })));
    }
    for (const [index, content] of contents.entries()) {
      const quoted =
        index === 0 && body.reply_to_message_id ? device?.quote(body.reply_to_message_id) : undefined;
      const outcome = await deps.sendNow(
        place,
        { chatId: jid, reply: quoted ?? {}, receivedAt: deps.clock.now() },
        content,
      );
      if (outcome.status !== "sent") {
        throw new GatewayError("UPSTREAM_UNAVAILABLE", `The message was not sent: ${outcome.reason}`);
      }
    }
    if (body.message_id) device?.settle(body.message_id);
  };
}
export type DeviceSend = ReturnType<typeof createDeviceSend>;
