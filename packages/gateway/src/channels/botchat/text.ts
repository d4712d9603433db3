import { plainOf, render } from "../render/index.ts";
import type { Button, WebApp } from "../types.ts";

// https://core.telegram.org/bots/api#inlinekeyboardbutton
const MAX_CALLBACK_BYTES = 64;
/** Telegram's limit for the buttons of a message is not documented; it takes a hundred. */
const MAX_BUTTONS = 100;

/** The fields of a text: HTML, or plain. */
export function textOf(text: string, plain = false): { text: string; parse_mode?: "HTML" } {
  return plain ? { text: plainOf(text) } : { text: render("botchat", text), parse_mode: "HTML" };
}

/** Buttons below each other; those whose command is too long for one are left out. */
export function keyboard(buttons: readonly Button[] | undefined, webApp?: WebApp) {
  const opening = webApp ? [[{ text: webApp.label, web_app: { url: webApp.url } }]] : [];
  const pressing = (buttons ?? [])
    .filter(({ command, label }) => label !== "" && Buffer.byteLength(command) <= MAX_CALLBACK_BYTES)
    .slice(0, MAX_BUTTONS)
    .map(({ label, command }) => [{ text: label, callback_data: command }]);
  const rows = [...opening, ...pressing];
  return rows.length > 0 ? { reply_markup: { inline_keyboard: rows } } : {};
}
