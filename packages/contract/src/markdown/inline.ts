/** Bits of {@link Run.marks}. */
export const STRONG = 1;
export const EM = 2;
export const DEL = 4;

/** A stretch of text in one look. `marks` holds the bits above; `label` is a link's text with looks of its own. */
export type Run =
  | { type: "text"; text: string; marks: number }
  | { type: "code"; text: string; marks: number }
  | { type: "link"; text: string; href: string; marks: number; label?: readonly Run[] };

interface Mark {
  type: "mark";
  text: string;
  bit: number;
  /** Stays `literal` when no partner comes. */
  state: "literal" | "open" | "close";
}
type Token =
  | { type: "text" | "code"; text: string }
  | { type: "link"; text: string; href: string; inner?: readonly Token[] }
  | Mark;

/** Longest target of a link in bytes; what is longer stays text. */
const MAX_TARGET = 2048;
/** Runs of more backticks than these start no code. */
const MAX_TICKS = 8;
/** Open brackets that a closing one is matched with; those before them stay text. */
const MAX_BRACKETS = 32;
const SPECIAL = /[\\`*_~[\]!<&]|https?:\/\//g;
const TARGET =
  /\(\s{0,9}<?([^\s<>()]*(?:\([^\s<>()]*\)[^\s<>()]*)*)>?(?:\s{1,9}(?:"[^"]{0,300}"|'[^']{0,300}'))?\s{0,9}\)/y;
const BARE = /https?:\/\/[^\s<>"'`，。、；：！？（）【】《》「」『』]+/y;
/** Scheme and authority of an address: what decides whether it is one. */
const ORIGIN = /https?:\/\/[/\\]*[^\s<>"'`，。、；：！？（）【】《》「」『』/\\?#]*/y;
const ADDRESS_CHARACTER = /[^\s<>"'`，。、；：！？（）【】《》「」『』]/y;
/** What {@link trimAddress} may take off. */
const TRIMMED = /[.,:;!?*_~\])]*/y;
const ANGLE = /<((?:https?:\/\/|mailto:)[^\s<>]+)>/y;
const BREAK = /<br ?\/?>/iy;
const ENTITY = /&(?:#(\d{2,7})|#[xX]([0-9a-fA-F]{2,6})|(amp|lt|gt|quot|apos|nbsp));/y;
const NAMED: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: "\u00a0",
};
const WORD = /[\p{L}\p{N}]/u;
const SPACE = /\s/;

const bareAddress = (address: string) => address.replace(/^(?:https?:\/\/|mailto:)/, "").replace(/\/$/, "");

/** A run in plain text: of a link its address, and what it says where that is something else. */
export function runText(run: Run): string {
  if (run.type !== "link") return run.text;
  return bareAddress(run.text) === bareAddress(run.href) ? run.href : `${run.text} (${run.href})`;
}

const matchAt = (pattern: RegExp, text: string, at: number) => {
  pattern.lastIndex = at;
  return pattern.exec(text);
};
const linkable = (target: string) =>
  ["http:", "https:", "mailto:"].includes(URL.parse(target)?.protocol ?? "");

/**
 * Reads emphasis, code and links of a paragraph; what is not well-formed stays text, and line breaks stay in it. Linear
 * in the text's length, whatever the text.
 */
export function parseInline(text: string): Run[] {
  if (text.search(SPECIAL) < 0) return [{ type: "text", text, marks: 0 }];
  const reader = createReader(text);
  reader.read();
  return flatten(reader.tokens);
}

function createReader(text: string) {
  const tokens: Token[] = [];
  /** Marks that wait for their partner, each kind at most once: a search in it takes constant time. */
  const open: Mark[] = [];
  /** Where in `tokens` the brackets stand that may begin a link. */
  const brackets: { index: number; image: boolean }[] = [];
  /** Lengths of backtick runs with no partner ahead. */
  const absent = new Set<number>();
  let plain = "";
  let at = 0;

  function push(token?: Token): void {
    if (plain !== "") tokens.push({ type: "text", text: plain });
    plain = "";
    if (token) tokens.push(token);
  }
  function literal(length: number): void {
    plain += text.slice(at, at + length);
    at += length;
  }
  function runLength(from: number): number {
    let end = from + 1;
    while (text[end] === text[from]) end++;
    return end - from;
  }

  function code() {
    const ticks = runLength(at);
    const marker = "`".repeat(Math.min(ticks, MAX_TICKS));
    if (ticks > MAX_TICKS || absent.has(ticks)) return literal(ticks);
    const start = at + ticks;
    let end = text.indexOf(marker, start);
    while (end >= 0) {
      const found = runLength(end);
      if (found === ticks) break;
      end = text.indexOf(marker, end + found);
    }
    if (end < 0) {
      absent.add(ticks);
      return literal(ticks);
    }
    const inner = text.slice(start, end).replaceAll("\n", " ");
    const padded = inner.startsWith(" ") && inner.endsWith(" ") && inner.trim() !== "";
    push({ type: "code", text: padded ? inner.slice(1, -1) : inner });
    at = end + ticks;
  }

  function emphasis() {
    const char = text[at] as string;
    const length = runLength(at);
    if (char === "~" ? length !== 2 : length > 3) return literal(length);
    const before = text[at - 1] ?? " ";
    const after = text[at + length] ?? " ";
    const canOpen = !SPACE.test(after) && !(char === "_" && WORD.test(before));
    const canClose = !SPACE.test(before) && !(char === "_" && WORD.test(after));
    let left = length;
    while (left > 0 && canClose) {
      const index = open.findLastIndex((mark) => mark.text[0] === char && mark.text.length <= left);
      const partner = open[index];
      if (!partner) break;
      partner.state = "open";
      open.length = index;
      push({ ...partner, state: "close" });
      left -= partner.text.length;
    }
    for (const size of left === 3 ? [2, 1] : left > 0 ? [left] : []) {
      const marker = char.repeat(size);
      if (canOpen && !open.some((mark) => mark.text === marker)) {
        const bit = char === "~" ? DEL : size === 2 ? STRONG : EM;
        const mark: Mark = { type: "mark", text: marker, bit, state: "literal" };
        open.push(mark);
        push(mark);
      } else plain += marker;
    }
    at += length;
  }

  function bracket(image: boolean): void {
    const mark = image ? "![" : "[";
    push({ type: "text", text: mark });
    brackets.push({ index: tokens.length - 1, image });
    if (brackets.length > MAX_BRACKETS) brackets.shift();
    at += mark.length;
  }

  function closeBracket() {
    const start = brackets.pop();
    const match = start && text[at + 1] === "(" ? matchAt(TARGET, text, at + 1) : null;
    const href = match?.[1] ?? "";
    if (!start || !match || href.length > MAX_TARGET || !linkable(href)) return literal(1);
    push();
    const inner = tokens.splice(start.index).slice(1);
    const label = inner.filter((token) => token.type !== "mark").map((token) => token.text);
    const leading = Math.max(
      inner.findIndex((token) => token.type !== "mark"),
      0,
    );
    const shown = label.join("").replaceAll("\n", " ").trim();
    for (const mark of inner.slice(0, leading)) push(mark);
    const looks = inner.some(({ type }) => type === "mark" || type === "code");
    const styled = looks && inner.every(({ type }) => type !== "link");
    push({ type: "link", text: shown || href, href, ...(shown !== "" && styled && { inner }) });
    for (const token of inner.slice(leading)) if (token.type === "mark") push(token);
    // A link holds no other link; a picture may stand in one.
    if (!start.image) brackets.length = 0;
    at += 1 + match[0].length;
  }

  function address(): boolean {
    const angle = text[at] === "<" ? matchAt(ANGLE, text, at) : null;
    const target = angle?.[1] ?? bareTarget(text, at);
    if (!linkable(target)) return false;
    push({ type: "link", text: target, href: target });
    at += angle ? angle[0].length : target.length;
    return true;
  }

  function special() {
    const next = text[at + 1] ?? "";
    switch (text[at]) {
      case "\\":
        if (next === "\n") at++;
        else if (/[!-/:-@[-`{-~]/.test(next)) {
          at++;
          literal(1);
        } else literal(1);
        return;
      case "`":
        return code();
      case "*":
      case "_":
      case "~":
        return emphasis();
      case "[":
        return bracket(false);
      case "!":
        return next === "[" ? bracket(true) : literal(1);
      case "]":
        return closeBracket();
      case "&":
        return entity();
      default:
        if (address()) return;
        if (text[at] === "<" && matchAt(BREAK, text, at)) {
          plain += "\n";
          at = BREAK.lastIndex;
        } else literal(1);
    }
  }

  function entity() {
    const match = matchAt(ENTITY, text, at);
    const [all = "&", decimal, hex, name] = match ?? [];
    const point = decimal ? Number(decimal) : hex ? Number.parseInt(hex, 16) : 0;
    const known = name
      ? NAMED[name]
      : point > 0x20 && point < 0x110000
        ? String.fromCodePoint(point)
        : undefined;
    if (known === undefined || !known.isWellFormed() || /\p{C}/u.test(known)) return literal(1);
    plain += known;
    at += all.length;
  }

  return {
    tokens,
    read(): void {
      while (at < text.length) {
        SPECIAL.lastIndex = at;
        const found = SPECIAL.exec(text);
        if (!found) break;
        literal(found.index - at);
        special();
      }
      literal(text.length - at);
      push();
    },
  };
}

/** The address without brackets at a place, if it can be one. What is read in vain holds no other address. */
function bareTarget(text: string, at: number): string {
  const origin = matchAt(ORIGIN, text, at)?.[0];
  if (origin === undefined) return "";
  if (linkable(origin)) return trimAddress(matchAt(BARE, text, at)?.[0] ?? "");
  const end = at + origin.length;
  const rest = matchAt(TRIMMED, text, end)?.[0] ?? "";
  const goesOn = matchAt(ADDRESS_CHARACTER, text, end + rest.length) !== null;
  return goesOn ? "" : trimAddress(origin + rest);
}

/** Punctuation after an address belongs to the sentence, as does a closing bracket that it did not open. */
function trimAddress(address: string): string {
  const bracketed = address.includes("(");
  let end = address.length;
  while (
    end > 0 &&
    (".,:;!?*_~]".includes(address[end - 1] as string) || (!bracketed && address[end - 1] === ")"))
  ) {
    end--;
  }
  return address.slice(0, end);
}

function flatten(tokens: readonly Token[]): Run[] {
  const runs: Run[] = [];
  const depth = new Map([STRONG, EM, DEL].map((bit) => [bit, 0]));
  for (const token of tokens) {
    if (token.type === "mark" && token.state !== "literal") {
      depth.set(token.bit, (depth.get(token.bit) ?? 0) + (token.state === "open" ? 1 : -1));
      continue;
    }
    let marks = 0;
    for (const [bit, count] of depth) if (count > 0) marks |= bit;
    const last = runs.at(-1);
    if (token.type === "link") {
      const { inner, ...link } = token;
      runs.push({ ...link, marks, ...(inner && { label: flatten(inner) }) });
    } else if (token.type === "code") runs.push({ ...token, marks });
    else if (last?.type === "text" && last.marks === marks) last.text += token.text;
    else runs.push({ type: "text", text: token.text, marks });
  }
  return runs;
}
