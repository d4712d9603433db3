import { runEnd } from "./lines.ts";
import { bareEnd, matchBrackets, readAngled, readTarget, safeHref } from "./links.ts";

/** A piece of a line of text. */
export type Inline =
  | { type: "text"; text: string }
  | { type: "code"; text: string }
  | { type: "strong" | "em" | "del"; children: Inline[] }
  | { type: "link"; href: string; children: Inline[] }
  | { type: "break" };

/** Emphasis and links within each other; anything nested deeper is text. */
const MAX_DEPTH = 8;
const SPECIAL = /[\\`*_~[!<\n]|https?:\/\//g;

/** Parser state for a text, so that nothing is searched for twice. */
interface Scan {
  text: string;
  depth: number;
  /** Markers with no closing one ahead. */
  absent: Set<string>;
  /** For each `[` its `]`; made at the first one. */
  brackets: Map<number, number> | undefined;
}

/** Reads emphasis, code, links and line breaks; what is not well-formed stays text. Linear in the text's length. */
export function parseInline(text: string, depth = 0): Inline[] {
  const scan: Scan = { text, depth, absent: new Set(), brackets: undefined };
  const out: Inline[] = [];
  let plain = "";
  let at = 0;
  const flush = () => {
    if (plain !== "") out.push({ type: "text", text: plain });
    plain = "";
  };

  while (at < text.length) {
    SPECIAL.lastIndex = at;
    const found = SPECIAL.exec(text);
    if (!found) break;
    plain += text.slice(at, found.index);
    at = found.index;
    const node = readSpecial(scan, at);
    if (node) {
      flush();
      out.push(node.node);
      at = node.end;
    } else if (text[at] === "\\" && /[!-/:-@[-`{-~]/.test(text[at + 1] ?? "")) {
      plain += text[at + 1];
      at += 2;
    } else {
      const end = plainEnd(text, at);
      plain += text.slice(at, end);
      at = end;
    }
  }
  plain += text.slice(at);
  flush();
  return out;
}

type Found = { node: Inline; end: number } | undefined;

function readSpecial(scan: Scan, at: number): Found {
  const { text, depth } = scan;
  switch (text[at]) {
    case "\n":
      return { node: { type: "break" }, end: at + 1 };
    case "`":
      return readCode(scan, at);
    case "*":
    case "_":
    case "~":
      return depth < MAX_DEPTH ? readEmphasis(scan, at) : undefined;
    case "[":
      return readLink(scan, at);
    case "!":
      // Pictures from elsewhere are not loaded; their link is shown.
      return text[at + 1] === "[" ? readLink(scan, at + 1) : undefined;
    case "<": {
      const angled = readAngled(text, at);
      return angled && linkTo(angled.address, angled.end);
    }
    case "h": {
      const { shown } = bareEnd(text, at);
      return linkTo(text.slice(at, shown), shown);
    }
    default:
      return undefined;
  }
}

function linkTo(address: string, end: number): Found {
  const href = safeHref(address);
  return href === undefined
    ? undefined
    : { node: { type: "link", href, children: [{ type: "text", text: address }] }, end };
}

/** End of what stays text at `at`: a marker as a whole, an address that is none as a whole, else one character. */
function plainEnd(text: string, at: number): number {
  const char = text[at] as string;
  if (char === "h") return bareEnd(text, at).end;
  return "`*_~".includes(char) ? runEnd(text, at, char) : at + 1;
}

const markerLength = (text: string, at: number) => runEnd(text, at, text[at] as string) - at;

function readCode({ text, absent }: Scan, at: number): Found {
  const marker = "`".repeat(markerLength(text, at));
  if (marker.length > 8 || absent.has(marker)) return undefined;
  const start = at + marker.length;
  let end = text.indexOf(marker, start);
  while (end >= 0 && markerLength(text, end) !== marker.length) {
    end = text.indexOf(marker, end + markerLength(text, end));
  }
  if (end < 0) {
    absent.add(marker);
    return undefined;
  }
  const code = text.slice(start, end).replaceAll("\n", " ");
  const padded = code.startsWith(" ") && code.endsWith(" ") && code.trim() !== "";
  return { node: { type: "code", text: padded ? code.slice(1, -1) : code }, end: end + marker.length };
}

const wordAt = (text: string, at: number) => /[\p{L}\p{N}]/u.test(text[at] ?? "");

function readEmphasis({ text, depth, absent }: Scan, at: number): Found {
  const char = text[at] as string;
  const run = markerLength(text, at);
  const size = char === "~" ? 2 : Math.min(run, 2);
  if (run < size || run > 3 || /\s/.test(text[at + run] ?? " ")) return undefined;
  if (char === "_" && wordAt(text, at - 1)) return undefined;
  const marker = char.repeat(size);
  if (absent.has(marker)) return undefined;
  const start = at + size;
  for (let end = start; ; ) {
    end = text.indexOf(marker, end + (end === start ? run - size : 0));
    if (end < 0) {
      absent.add(marker);
      return undefined;
    }
    const length = markerLength(text, end);
    // Of a longer run the last characters close: `**a *b***`.
    const close = length > size && size === 2 ? end + length - size : end;
    const fits = (size === 2 ? length >= 2 : length !== 2) && !/\s/.test(text[end - 1] as string);
    if (fits && close > start && !(char === "_" && wordAt(text, close + size))) {
      const type = char === "~" ? "del" : size === 2 ? "strong" : "em";
      return {
        node: { type, children: parseInline(text.slice(start, close), depth + 1) },
        end: close + size,
      };
    }
    end += length;
  }
}

function readLink(scan: Scan, at: number): Found {
  const { text, depth } = scan;
  scan.brackets ??= matchBrackets(text);
  const close = scan.brackets.get(at);
  const target = close === undefined ? undefined : readTarget(text, close + 1);
  if (close === undefined || !target) return undefined;
  const label = text.slice(at + 1, close) || target.href;
  const children: Inline[] =
    depth < MAX_DEPTH ? unlink(parseInline(label, depth + 1)) : [{ type: "text", text: label }];
  return { node: { type: "link", href: target.href, children }, end: target.end };
}

/** A link holds no other link. */
function unlink(nodes: Inline[]): Inline[] {
  return nodes.flatMap((node) => (node.type === "link" ? node.children : [node]));
}
