/** Quoted text, which is left alone, or a parameter. */
const PARAMETER = /'(?:[^']|'')*'|"(?:[^"]|"")*"|\?/g;
const MAX_TEXTS = 1_000;

/** A function of a statement's text whose results are kept: a gateway has a few hundred texts. */
function remembered<T>(make: (text: string) => T): (text: string) => T {
  const known = new Map<string, T>();
  return (text) => {
    const before = known.get(text);
    if (before !== undefined) return before;
    if (known.size >= MAX_TEXTS) known.clear();
    const made = make(text);
    known.set(text, made);
    return made;
  };
}

function numberParameters(text: string): { text: string; count: number } {
  let count = 0;
  const numbered = text.replace(PARAMETER, (found) => (found === "?" ? `$${++count}` : found));
  return { text: numbered, count };
}

/** The text with `$1`, `$2`… in place of each `?`. */
export const numbered = remembered((text) => numberParameters(text).text);

/**
 * The statement that does the same, and keeps what it answers in the row of its unit with the two further parameters
 * `unit` and `n`; it answers the kept text.
 */
export const keeping = remembered((original) => {
  const { text, count } = numberParameters(original);
  const place = `$${count + 1}::text, $${count + 2}::integer`;
  return /\bRETURNING\b/i.test(text)
    ? `WITH done AS (${text}) INSERT INTO units (unit, n, result)
       SELECT ${place}, coalesce(json_agg(done)::text, '[]') FROM done RETURNING result`
    : `WITH done AS (${text} RETURNING 1 AS one) INSERT INTO units (unit, n, result)
       SELECT ${place}, count(*)::text FROM done RETURNING result`;
});
