const HEAD = '{"type":"stream_event","event":{"type":"content_block_delta","index":';
const MIDDLE = ',"delta":{"type":"text_delta","text":"';
/** What may follow the text, to the end of the line: nothing that changes what the line means. */
const TAIL = /^"\}\}(?:,"(?:session_id|uuid)":"[\w-]*"|,"parent_tool_use_id":null|,"ttft_ms":\d{1,9})*\}$/;
const INDEX = /^(?:0|[1-9]\d*)$/;
const MAX_INDEX_DIGITS = 4;

/**
 * Text of a line that is a text delta in the form in which agent programs write it; undefined for any other line, also
 * for the same fields in another order. Nine of ten lines of a turn are such, and reading them as JSON was most of
 * what a delta cost.
 */
export function readDeltaLine(line: string): string | undefined {
  if (!line.startsWith(HEAD)) return undefined;
  const middle = line.indexOf(MIDDLE, HEAD.length);
  if (middle <= HEAD.length || middle > HEAD.length + MAX_INDEX_DIGITS) return undefined;
  if (!INDEX.test(line.slice(HEAD.length, middle))) return undefined;
  const start = middle + MIDDLE.length;
  let end = line.indexOf('"', start);
  while (end > 0 && isEscaped(line, end, start)) end = line.indexOf('"', end + 1);
  if (end < 0 || !TAIL.test(line.slice(end))) return undefined;
  const text = line.slice(start, end);
  // Only an escape makes the text differ from what stands there; a control character would make it no JSON.
  if (!/[\\\p{Cc}]/u.test(text)) return text;
  try {
    return JSON.parse(line.slice(start - 1, end + 1)) as string;
  } catch {
    return undefined;
  }
}

function isEscaped(line: string, quote: number, start: number): boolean {
  let slashes = 0;
  while (quote - 1 - slashes >= start && line[quote - 1 - slashes] === "\\") slashes++;
  return slashes % 2 === 1;
}
