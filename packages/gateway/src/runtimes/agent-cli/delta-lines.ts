/** The lines of text deltas in the form in which agent programs write them. */
const HEAD = pattern('{"type":"stream_event","event":{"type":"content_block_delta","index":');
const MIDDLE = pattern(',"delta":{"type":"text_delta","text":"');
/** What may follow the text, to the end of the line: nothing that changes what the line means. */
const TAIL =
  /^"\}\}(?:,"(?:session_id|uuid)":"[\w-]*"|,"parent_tool_use_id":null|,"ttft_ms":\d{1,9})*\}\r?\n$/;
const MAX_TAIL = 512;
const MAX_INDEX_DIGITS = 4;

/** Texts are cut from pieces of about this size that are decoded at once; whoever keeps one keeps the piece. */
const DECODED_AT_ONCE = 4096;

const LF = 0x0a;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const FIRST_PRINTABLE = 0x20;
const FIRST_NOT_ASCII = 0x80;
const ZERO = 0x30;
const NINE = 0x39;

/** Bytes to be found as they are, also as whole words: comparing those takes a quarter of the time. */
interface Pattern {
  bytes: Uint8Array;
  words: Int32Array;
}

function pattern(text: string): Pattern {
  const bytes = new TextEncoder().encode(text);
  const view = new DataView(bytes.buffer);
  const words = new Int32Array(bytes.length >> 2).map((_, index) => view.getInt32(4 * index));
  return { bytes, words };
}

function matches({ bytes, words }: Pattern, view: DataView, at: number): boolean {
  if (at + bytes.length > view.byteLength) return false;
  for (let word = 0; word < words.length; word++) {
    if (view.getInt32(at + 4 * word) !== words[word]) return false;
  }
  for (let byte = 4 * words.length; byte < bytes.length; byte++) {
    if (view.getUint8(at + byte) !== bytes[byte]) return false;
  }
  return true;
}

/** How lines end, apart from the value of the field that differs in each. */
interface Tail {
  before: Pattern;
  /** Length of that value. */
  differs: number;
  after: Pattern;
}

function tailLike(text: string): Tail {
  const [, before, id = "", after] = /^(.*?"uuid":"|)([\w-]*)(.*)$/s.exec(text)!;
  return { before: pattern(before!), differs: id.length, after: pattern(after!) };
}

const IN_IDS = new Uint8Array(256).map((_, code) => (/[\w-]/.test(String.fromCharCode(code)) ? 1 : 0));

/** Where the line ends whose text ends at `at`; -1 when it does not end like `tail`. */
function endOfTail({ before, differs, after }: Tail, view: DataView, at: number): number {
  if (!matches(before, view, at)) return -1;
  const id = at + before.bytes.length;
  const rest = id + differs;
  if (!matches(after, view, rest)) return -1;
  for (let byte = id; byte < rest; byte++) if (IN_IDS[view.getUint8(byte)] === 0) return -1;
  return rest + after.bytes.length;
}

/** Where the text of the line at `start` begins; -1 when it is no text delta. */
function startOfText(view: DataView, start: number): number {
  if (!matches(HEAD, view, start)) return -1;
  const index = start + HEAD.bytes.length;
  let end = index;
  while (end < view.byteLength && end - index < MAX_INDEX_DIGITS && isDigit(view.getUint8(end))) end++;
  // JSON knows no leading zeros.
  if (end === index || (end - index > 1 && view.getUint8(index) === ZERO)) return -1;
  return matches(MIDDLE, view, end) ? end + MIDDLE.bytes.length : -1;
}

const isDigit = (byte: number) => byte >= ZERO && byte <= NINE;

/**
 * Reads the text deltas among an agent program's lines from their bytes. Nine of ten lines of a turn are such, and
 * making a string of each and reading it as JSON was most of what a delta cost.
 *
 * @returns what reads all text deltas that follow one another from the line at `start` on, and returns where the first
 * line begins that is none, or none in the usual form, or incomplete.
 */
export function createDeltaReader(onText: (text: string) => void): (lines: Buffer, start: number) => number {
  let known: Tail | undefined;

  const endOfLine = (lines: Buffer, view: DataView, at: number): number => {
    const end = known ? endOfTail(known, view, at) : -1;
    if (end !== -1) return end;
    const next = lines.subarray(at, at + MAX_TAIL).indexOf(LF) + 1;
    const tail = lines.toString("latin1", at, at + next);
    if (!TAIL.test(tail)) return -1;
    known = tailLike(tail);
    return at + next;
  };

  return (lines, first) => {
    let start = first;
    if (lines.length - start <= HEAD.bytes.length) return start;
    const view = new DataView(lines.buffer, lines.byteOffset, lines.length);
    let decoded = "";
    let decodedFrom = 0;
    for (;;) {
      const from = startOfText(view, start);
      if (from === -1) return start;
      let to = from;
      let [escaped, ascii] = [false, true];
      for (; to < lines.length; to++) {
        const byte = lines[to]!;
        if (byte === QUOTE || byte < FIRST_PRINTABLE) break;
        if (byte >= FIRST_NOT_ASCII) ascii = false;
        else if (byte === BACKSLASH) {
          escaped = true;
          to++;
        }
      }
      const next = endOfLine(lines, view, to);
      if (next === -1) return start;
      let text: string;
      if (escaped) {
        try {
          text = JSON.parse(lines.toString("utf8", from - 1, to + 1)) as string;
        } catch {
          return start;
        }
      } else if (!ascii || to - from > DECODED_AT_ONCE) text = lines.toString("utf8", from, to);
      else {
        if (to > decodedFrom + decoded.length) {
          decodedFrom = from;
          decoded = lines.toString("latin1", from, from + DECODED_AT_ONCE);
        }
        text = decoded.slice(from - decodedFrom, to - decodedFrom);
      }
      onText(text);
      start = next;
    }
  };
}
