export interface Piece {
  text: string;
  hit: boolean;
}

const BEFORE = 80;
const LENGTH = 280;

/** The surroundings of the first match in a text, with every match in them marked. */
export function excerptOf(content: string, query: string): Piece[] {
  const pattern = new RegExp(RegExp.escape(query), "giu");
  const first = Math.max(content.search(pattern), 0);
  const start = Math.max(first - BEFORE, 0);
  const cut = content.slice(start, start + LENGTH).toWellFormed();
  const pieces: Piece[] = [];
  let at = 0;
  for (const match of cut.matchAll(pattern)) {
    pieces.push({ text: cut.slice(at, match.index), hit: false }, { text: match[0], hit: true });
    at = match.index + match[0].length;
  }
  pieces.push({ text: cut.slice(at), hit: false });
  if (start > 0) pieces.unshift({ text: "…", hit: false });
  if (start + LENGTH < content.length) pieces.push({ text: "…", hit: false });
  return pieces.filter(({ text }) => text !== "");
}
