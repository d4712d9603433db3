/** A piece of a line of text. */
export type Inline =
  | { type: "text"; text: string }
  | { type: "code"; text: string }
  | { type: "strong" | "em" | "del"; children: Inline[] }
  | { type: "link"; href: string; children: Inline[] }
  | { type: "break" };

const MAX_DEPTH = 8;
/** Longest link label and target: keeps a row of `[` from being scanned again and again. */
const MAX_LABEL = 1000;
const SPECIAL = /[\\`*_~[!<\n]|https?:\/\//g;
const LINK_TARGET = /\(\s*<?([^\s<>()]*(?:\([^\s<>()]*\)[^\s<>()]*)*)>?(?:\s+(?:"[^"]*"|'[^']*'))?\s*\)/y;
const BARE_LINK = /https?:\/\/[^\s<>"'`]+/y;
const ANGLE_LINK = /<((?:https?:\/\/|mailto:)[^\s<>]+)>/y;

/** The address when it is one that a page may link to, else undefined: no `javascript:`, no `data:`. */
export function safeHref(target: string): string | undefined {
  const url = URL.parse(target);
  return url && ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : undefined;
}

/** Reads emphasis, code, links and line breaks; what is not well-formed stays text. Linear in the text's length. */
export function parseInline(text: string, depth = 0): Inline[] {
  const out: Inline[] = [];
  /** Markers with no closing one ahead: they are not searched for again. */
  const absent = new Set<string>();
  let plain = "";
  let at = 0;
  const flush = () => {
    if (plain !== "") out.push({ type: "text", text: plain });
    plain = "";
  };
  const push = (node: Inline, end: number) => {
    flush();
    out.push(node);
    at = end;
  };

  while (at < text.length) {
    SPECIAL.lastIndex = at;
    const found = SPECIAL.exec(text);
    if (!found) break;
    plain += text.slice(at, found.index);
    at = found.index;
    const node = readSpecial(text, at, depth, absent);
    if (node) push(node.node, node.end);
    else if (text[at] === "\\" && /[!-/:-@[-`{-~]/.test(text[at + 1] ?? "")) {
      plain += text[at + 1];
      at += 2;
    } else {
      const length = markerLength(text, at);
      plain += text.slice(at, at + length);
      at += length;
    }
  }
  plain += text.slice(at);
  flush();
  return out;
}

type Found = { node: Inline; end: number } | undefined;

function readSpecial(text: string, at: number, depth: number, absent: Set<string>): Found {
  switch (text[at]) {
    case "\n":
      return { node: { type: "break" }, end: at + 1 };
    case "`":
      return readCode(text, at, absent);
    case "*":
    case "_":
    case "~":
      return depth < MAX_DEPTH ? readEmphasis(text, at, depth, absent) : undefined;
    case "[":
      return readLink(text, at, depth, absent);
    case "!":
      // Pictures from elsewhere are not loaded; their link is shown.
      return text[at + 1] === "[" ? readLink(text, at + 1, depth, absent) : undefined;
    case "<":
      return readAddress(text, at, ANGLE_LINK, 1);
    case "h":
      return readAddress(text, at, BARE_LINK, 0);
    default:
      return undefined;
  }
}

function markerLength(text: string, at: number): number {
  let end = at + 1;
  if ("`*_~".includes(text[at] as string)) while (text[end] === text[at]) end++;
  return end - at;
}

function readCode(text: string, at: number, absent: Set<string>): Found {
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
  const padded = /^ .*[^ ].* $/.test(code);
  return { node: { type: "code", text: padded ? code.slice(1, -1) : code }, end: end + marker.length };
}

const wordAt = (text: string, at: number) => /[\p{L}\p{N}]/u.test(text[at] ?? "");

function readEmphasis(text: string, at: number, depth: number, absent: Set<string>): Found {
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

function readLink(text: string, at: number, depth: number, absent: Set<string>): Found {
  if (absent.has("]")) return undefined;
  if (!text.includes("](", at)) {
    absent.add("]");
    return undefined;
  }
  let open = 0;
  for (let end = at; end < text.length && end - at < MAX_LABEL; end++) {
    if (text[end] === "\\") end++;
    else if (text[end] === "[") open++;
    else if (text[end] === "]" && --open === 0) {
      LINK_TARGET.lastIndex = end + 1;
      const match = LINK_TARGET.exec(text);
      const href = match && match[0].length < 2 * MAX_LABEL ? safeHref(match[1] as string) : undefined;
      if (!match || href === undefined) return undefined;
      const label = text.slice(at + 1, end);
      const children: Inline[] =
        depth < MAX_DEPTH ? unlink(parseInline(label, depth + 1)) : [{ type: "text", text: label }];
      return {
        node: { type: "link", href, children: label ? children : [{ type: "text", text: href }] },
        end: LINK_TARGET.lastIndex,
      };
    }
  }
  return undefined;
}

/** A link holds no other link. */
function unlink(nodes: Inline[]): Inline[] {
  return nodes.flatMap((node) => (node.type === "link" ? node.children : [node]));
}

function readAddress(text: string, at: number, pattern: RegExp, group: number): Found {
  pattern.lastIndex = at;
  const match = pattern.exec(text);
  if (!match) return undefined;
  let shown = match[group] as string;
  if (group === 0) {
    // Punctuation after an address belongs to the sentence, as does a closing bracket that it did not open.
    shown = shown.replace(/[.,:;!?*_~]+$/, "");
    if (shown.endsWith(")") && !shown.includes("(")) shown = shown.replace(/\)+[.,:;!?*_~]*$/, "");
  }
  const href = safeHref(shown);
  if (href === undefined) return undefined;
  return {
    node: { type: "link", href, children: [{ type: "text", text: shown }] },
    end: group === 0 ? at + shown.length : pattern.lastIndex,
  };
}
