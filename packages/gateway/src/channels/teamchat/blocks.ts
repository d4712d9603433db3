import type { Block, KnownBlock } from "@slack/web-api";
import type { Button } from "../types.ts";

/**
 * Limits of blocks.
 * Source: https://docs.slack.dev/reference/block-kit/blocks
 */
const SECTION_CHARS = 3_000;
const LABEL_CHARS = 75;
const ROW_BUTTONS = 25;
const MAX_BUTTONS = 100;
const MAX_BLOCKS = 50;

/** Text with buttons below it; undefined when it does not fit into blocks. */
export function blocksOf(mrkdwn: string, buttons: readonly Button[]): (KnownBlock | Block)[] | undefined {
  const sections: KnownBlock[] = sectionsOf(mrkdwn).map((text) => ({
    type: "section",
    text: { type: "mrkdwn", text },
  }));
  const rows: KnownBlock[] = [];
  const shown = buttons.slice(0, MAX_BUTTONS);
  for (let start = 0; start < shown.length; start += ROW_BUTTONS) {
    rows.push({
      type: "actions",
      elements: shown.slice(start, start + ROW_BUTTONS).map(({ label, command }, index) => ({
        type: "button",
        text: { type: "plain_text", text: [...label].slice(0, LABEL_CHARS).join("") },
        action_id: `command_${start + index}`,
        value: command,
      })),
    });
  }
  const blocks = [...sections, ...rows];
  return blocks.length <= MAX_BLOCKS ? blocks : undefined;
}

/** A section holds less than a message: cut at the ends of lines. */
function sectionsOf(text: string): string[] {
  const parts: string[] = [];
  let rest = text;
  while (rest.length > SECTION_CHARS) {
    const line = rest.lastIndexOf("\n", SECTION_CHARS);
    const end = line > 0 ? line : SECTION_CHARS;
    parts.push(rest.slice(0, end).toWellFormed());
    rest = rest.slice(end).replace(/^\n/, "");
  }
  return rest.trim() === "" ? parts : [...parts, rest];
}

/** The commands of buttons for where there are none. */
export const commandLines = (buttons: readonly Button[]): string =>
  buttons.map(({ label, command }) => `${label}: ${command}`).join("\n");
