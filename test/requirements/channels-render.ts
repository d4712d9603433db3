/** Rules of the texts that channels send: issue "Channels", delivery. */
export const channelsRender: Record<string, string> = {
  "CH-RENDER-1": "Markdown becomes Telegram's HTML: allowed tags alone, balanced, everything else escaped",
  "CH-RENDER-2":
    "Markdown becomes Slack's mrkdwn: `&`, `<` and `>` are escaped, so that no text forges a mention or a command",
  "CH-RENDER-3":
    "Markdown stays Discord's, but for what Discord lacks: tables, pictures, headings below the third level",
  "CH-RENDER-4": "Markdown becomes WhatsApp's light signs, and plain text for LINE",
  "CH-RENDER-5": "the plain text of a reply is readable: no signs, links as `text (address)`",
  "CH-RENDER-6":
    "long texts are split within the provider's limit, counted as the provider counts, rendered and as plain text",
  "CH-RENDER-7": "splitting loses, repeats and reorders no text, in every script; no part is empty",
  "CH-RENDER-8":
    "texts are split at sensible points: between paragraphs, lines, sentences, words, graphemes, in this order",
  "CH-RENDER-9": "split code stays code in its language, split tables and lists stay readable",
  "CH-RENDER-10": "rendering and splitting take time in proportion to the text, whatever the text",
  "CH-DOCS-1":
    "a page for each channel leads a newcomer to a connected bot: its commands, settings and errors are those of the gateway",
};
