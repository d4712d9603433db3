import { type Api, InputFile } from "grammy/web";
import { plainOf } from "../render/index.ts";
import { type OutgoingFile, openOutgoing } from "../support/outgoing-file.ts";
import type { Content, SendOutcome } from "../types.ts";
import { MARKUP, refused } from "./answer.ts";
import type { Deliver } from "./place.ts";
import { textOf } from "./text.ts";

type File = Content & { kind: "file" };
type Method = "photo" | "voice" | "audio" | "video" | "document";

/** https://core.telegram.org/bots/api#sendphoto */
const MAX_PHOTO_BYTES = 10 * 1024 * 1024;
/** Counted without markup: https://core.telegram.org/bots/api#sendphoto */
const MAX_CAPTION = 1024;
/** Telegram's errors for a file that it accepts only as a document: its proportions, its coding, the user's settings. */
const NOT_AS_SUCH = /photo|image|dimension|voice|audio|video|too (?:big|large)|wrong (?:type|file)/i;

/** Sends a file as its own kind, or as a document if Telegram does not accept that. */
export async function sendFile(api: Api, file: File, deliver: Deliver): Promise<SendOutcome> {
  await using opened = await openOutgoing(file.path);
  if (!opened) return { status: "failed", reason: "The file no longer exists." };
  const method = methodOf(file, opened.size);
  const as = (way: Method) =>
    withCaption(file.caption, (caption) => upload(api, opened, file.name, way, caption, deliver));
  try {
    return await as(method);
  } catch (error) {
    if (method === "document" || !refused(error, NOT_AS_SUCH)) throw error;
    return await as("document");
  }
}

function methodOf({ mime, asDocument }: Pick<File, "mime" | "asDocument">, size: number): Method {
  if (asDocument) return "document";
  if (/^image\/(?:jpeg|png|webp)$/.test(mime)) return size <= MAX_PHOTO_BYTES ? "photo" : "document";
  if (/^audio\/(?:ogg|opus)$/.test(mime)) return "voice";
  if (/^audio\/(?:mpeg|mp4|x-m4a|m4a)$/.test(mime)) return "audio";
  return mime === "video/mp4" ? "video" : "document";
}

type Caption = { caption?: string; parse_mode?: "HTML" };

/** A caption with its markup, or without if that is refused; cut if it is too long. */
async function withCaption(
  markdown: string | undefined,
  send: (caption: Caption) => Promise<SendOutcome>,
): Promise<SendOutcome> {
  if (!markdown) return send({});
  const plain = plainOf(markdown);
  if (plain.length > MAX_CAPTION) {
    return send({ caption: `${plain.slice(0, MAX_CAPTION - 1).toWellFormed()}…` });
  }
  const { text, parse_mode } = textOf(markdown);
  try {
    return await send({ caption: text, ...(parse_mode && { parse_mode }) });
  } catch (error) {
    if (!refused(error, MARKUP)) throw error;
    return send({ caption: plain });
  }
}

function upload(
  api: Api,
  file: OutgoingFile,
  name: string,
  method: Method,
  caption: Caption,
  deliver: Deliver,
): Promise<SendOutcome> {
  return deliver((place, signal) => {
    const body = new InputFile(file.content(), quoted(name));
    const rest = { ...place, ...caption };
    switch (method) {
      case "photo":
        return api.raw.sendPhoto({ ...rest, photo: body }, signal);
      case "voice":
        return api.raw.sendVoice({ ...rest, voice: body }, signal);
      case "audio":
        return api.raw.sendAudio({ ...rest, audio: body }, signal);
      case "video":
        return api.raw.sendVideo({ ...rest, video: body, supports_streaming: true }, signal);
      default:
        return api.raw.sendDocument({ ...rest, document: body }, signal);
    }
  });
}

/** grammY writes the name into a header as it is given. */
const quoted = (name: string) => `"${name.replace(/[\p{Cc}"\\]/gu, "_") || "file"}"`;
