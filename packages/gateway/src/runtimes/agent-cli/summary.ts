/**
 * Takes the summary out of the message that Claude Code writes after a compaction (2.1.329): what it tells the model
 * around it, a path to the transcript included, is not part of it.
 */
export function readSummary(message: string | null): string | null {
  if (message === null) return null;
  const text = withoutReminders(message);
  const start = /(?:^|\n)Summary:\n/.exec(text);
  const body = start ? text.slice(start.index + start[0].length) : text;
  const end =
    /\n\nIf you need specific details from before compaction|\n\nContinue the conversation from where/.exec(
      body,
    );
  const summary = (end ? body.slice(0, end.index) : body).trim();
  return summary === "" ? null : summary;
}

const OPEN = "<system-reminder>";
const CLOSE = "</system-reminder>";

function withoutReminders(message: string): string {
  let text = "";
  for (let at = 0; ; ) {
    const open = message.indexOf(OPEN, at);
    const close = open < 0 ? -1 : message.indexOf(CLOSE, open);
    if (close < 0) return text + message.slice(at);
    text += message.slice(at, open);
    at = close + CLOSE.length;
  }
}
