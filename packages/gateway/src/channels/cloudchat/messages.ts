import { plainOf, render } from "../render/index.ts";
import type { Button, Content } from "../types.ts";
import type { Settings } from "./api.ts";

type TextContent = Extract<Content, { kind: "text" }>;
type FileContent = Extract<Content, { kind: "file" }>;

/** Limits. Source: https://developers.facebook.com/docs/whatsapp/cloud-api/reference/messages */
const MAX_TEXT = 4096;
const MAX_INTERACTIVE_TEXT = 1024;
const MAX_CAPTION = 1024;
const MAX_PARAMETER = 1024;
const MAX_BUTTONS = 3;
const MAX_BUTTON_TITLE = 20;
const MAX_ROWS = 10;
const MAX_ROW_TITLE = 24;
const MAX_ROW_ID = 200;
/** Source: https://developers.facebook.com/docs/whatsapp/cloud-api/reference/media#supported-media-types */
const MB = 1024 * 1024;
const SHOWN: readonly { kind: "image" | "video" | "audio"; mime: RegExp; maxBytes: number }[] = [
  { kind: "image", mime: /^image\/(?:jpeg|png)$/, maxBytes: 5 * MB },
  { kind: "video", mime: /^video\/(?:mp4|3gpp)$/, maxBytes: 16 * MB },
  { kind: "audio", mime: /^audio\/(?:aac|amr|mpeg|mp4|ogg)$/, maxBytes: 16 * MB },
];

const cut = (text: string, max: number) => [...text].slice(0, max).join("");

function interactive(text: string, buttons: readonly Button[]): object {
  if (buttons.length <= MAX_BUTTONS) {
    const reply = ({ label, command }: Button) => ({
      type: "reply",
      reply: { id: command, title: cut(label, MAX_BUTTON_TITLE) },
    });
    return { type: "button", body: { text }, action: { buttons: buttons.map(reply) } };
  }
  const rows = buttons
    .slice(0, MAX_ROWS)
    .map(({ label, command }) => ({ id: command, title: cut(label, MAX_ROW_TITLE) }));
  return { type: "list", body: { text }, action: { button: "Choose", sections: [{ rows }] } };
}

/** A text in the provider's markup, with buttons where they fit: three as buttons, up to ten as a list. */
export function textMessage({ text, plain, buttons = [] }: TextContent): object {
  const body = cut(plain ? plainOf(text) : render("cloudchat", text), MAX_TEXT);
  const usable = buttons.filter(({ command }) => command.length <= MAX_ROW_ID);
  return usable.length > 0 && body.length <= MAX_INTERACTIVE_TEXT
    ? { type: "interactive", interactive: interactive(body, usable) }
    : { type: "text", text: { body } };
}

/**
 * The configured template with the text as the one parameter of its body; undefined when none is set up. The provider
 * refuses parameters with line breaks, tabs or more than four spaces in a row.
 */
export function templateMessage(text: string, settings: Settings): object | undefined {
  const { templatesEnabled, templateName: name, templateLanguage: code } = settings;
  if (!templatesEnabled || !name) return undefined;
  const flat = plainOf(text).replace(/\s+/g, " ").trim();
  const characters = [...flat];
  const parameter =
    characters.length <= MAX_PARAMETER ? flat : `${characters.slice(0, MAX_PARAMETER - 1).join("")}…`;
  const components = [{ type: "body", parameters: [{ type: "text", text: parameter }] }];
  return { type: "template", template: { name, language: { code }, components } };
}

/** A file that was uploaded under `id`, shown as what it is where the provider can. */
export function fileMessage(
  { mime, name, asDocument, caption }: FileContent,
  id: string,
  bytes: number,
): object {
  const shown = SHOWN.find((entry) => entry.mime.test(mime) && bytes <= entry.maxBytes);
  const said = caption ? { caption: cut(caption, MAX_CAPTION) } : {};
  // Audio has no caption, so one that comes with words goes out as a file.
  if (!shown || asDocument || (shown.kind === "audio" && caption)) {
    return { type: "document", document: { id, filename: name, ...said } };
  }
  return { type: shown.kind, [shown.kind]: { id, ...said } };
}
