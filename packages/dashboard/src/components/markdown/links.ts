/** Longest address, in characters; longer ones stay text. */
const MAX_ADDRESS = 2000;

/** The address when it is one that a page may link to, else undefined: no `javascript:`, no `data:`. */
export function safeHref(target: string): string | undefined {
  if (target.length > MAX_ADDRESS) return undefined;
  const url = URL.parse(target);
  return url && ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : undefined;
}

/** For each `[` that has one, the index of its `]`. */
export function matchBrackets(text: string): Map<number, number> {
  const pairs = new Map<number, number>();
  const open: number[] = [];
  for (let at = 0; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === "[") open.push(at);
    else if (text[at] === "]") {
      const start = open.pop();
      if (start !== undefined) pairs.set(start, at);
    }
  }
  return pairs;
}

export interface Target {
  href: string;
  /** Index after the closing bracket. */
  end: number;
}

/** Reads `(address "title")` at `at`; the address may hold one level of round brackets. */
export function readTarget(text: string, at: number): Target | undefined {
  const limit = Math.min(text.length, at + 2 * MAX_ADDRESS);
  const skipSpace = (from: number) => {
    let next = from;
    while (next < limit && isSpace(text[next])) next++;
    return next;
  };
  if (text[at] !== "(") return undefined;
  let start = skipSpace(at + 1);
  const angled = text[start] === "<";
  if (angled) start++;
  let end = start;
  for (let open = 0; end < limit; end++) {
    const char = text[end] as string;
    if (char === "(") open++;
    else if (char === ")" && --open < 0) break;
    else if (char === "<" || char === ">" || isSpace(char)) break;
    if (open > 1) return undefined;
  }
  const href = safeHref(text.slice(start, end));
  if (angled && text[end] === ">") end++;
  let after = skipSpace(end);
  const quote = text[after];
  if (after > end && (quote === '"' || quote === "'")) {
    after++;
    while (after < limit && text[after] !== quote) after++;
    after = skipSpace(after + 1);
  }
  return href !== undefined && after < limit && text[after] === ")" ? { href, end: after + 1 } : undefined;
}

/** End of the address that begins at `at` in a sentence, without the punctuation that follows it. */
export function bareEnd(text: string, at: number): { shown: number; end: number } {
  let end = at;
  let opened = false;
  while (end < text.length && !isSpace(text[end]) && !"<>\"'`".includes(text[end] as string)) {
    if (text[end] === "(") opened = true;
    end++;
  }
  // Punctuation after an address belongs to the sentence, as does a closing bracket that it did not open.
  const trailing = opened ? ".,:;!?*_~" : ".,:;!?*_~)";
  let shown = end;
  while (shown > at && trailing.includes(text[shown - 1] as string)) shown--;
  return { shown, end };
}

/** The address in `<…>` at `at`. */
export function readAngled(text: string, at: number): { address: string; end: number } | undefined {
  let end = at + 1;
  while (end < text.length && !isSpace(text[end]) && text[end] !== "<" && text[end] !== ">") end++;
  const address = text.slice(at + 1, end);
  const known = ["https://", "http://", "mailto:"].some((scheme) => address.startsWith(scheme));
  return known && text[end] === ">" ? { address, end: end + 1 } : undefined;
}

const isSpace = (char: string | undefined) => char !== undefined && char.trim() === "";
