/**
 * Takes the summary out of the message that Claude Code writes after a compaction (2.1.329): what it tells the model
 * around it, a path to the transcript included, is not part of it.
 */
export function readSummary(message: string | null): string | null {
  if (message === null) return null;
  const text = message.replaceAll(/<system-reminder>[\s\S]*?<\/system-reminder>/g, "");
  const start = /(?:^|\n)Summary:\n/.exec(text);
  const body = start ? text.slice(start.index + start[0].length) : text;
  const end =
    /\n\nIf you need specific details from before compaction|\n\nContinue the conversation from where/.exec(
      body,
    );
  const summary = (end ? body.slice(0, end.index) : body).trim();
  return summary === "" ? null : summary;
}
