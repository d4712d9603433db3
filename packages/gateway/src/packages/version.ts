/** Longer ones are not versions (https://semver.org; npm has the same limit). */
const MAX_CHARS = 256;
const VERSION =
  /^(\d{1,15})\.(\d{1,15})\.(\d{1,15})(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z.-]+)?$/;
const NUMERIC = /^\d+$/;

interface Version {
  numbers: readonly number[];
  before: readonly string[];
}

function parse(text: string): Version | undefined {
  const found = text.length <= MAX_CHARS ? VERSION.exec(text) : null;
  if (!found) return undefined;
  const [, major, minor, patch, before] = found;
  const parts = [major!, minor!, patch!];
  const identifiers = before?.split(".") ?? [];
  const padded = (part: string) => part.length > 1 && part.startsWith("0") && NUMERIC.test(part);
  if ([...parts, ...identifiers].some(padded)) return undefined;
  return { numbers: parts.map(Number), before: identifiers };
}

/** True for a version as https://semver.org writes it: three numbers, and what may follow them. */
export const isVersion = (text: unknown): text is string =>
  typeof text === "string" && parse(text) !== undefined;

function compareIdentifiers(a: string, b: string): number {
  const numeric = [NUMERIC.test(a), NUMERIC.test(b)];
  if (numeric[0] && numeric[1]) return a.length - b.length || (a < b ? -1 : Number(a > b));
  if (numeric[0] !== numeric[1]) return numeric[0] ? -1 : 1;
  return a < b ? -1 : Number(a > b);
}

/**
 * Precedence of two versions (https://semver.org/#spec-item-11): negative when `a` is the older one.
 * @throws Error for what is no version
 */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [parse(a), parse(b)];
  if (!left || !right) throw new Error("not a version");
  for (const [at, number] of left.numbers.entries()) {
    if (number !== right.numbers[at]) return number - right.numbers[at]!;
  }
  // What comes before a release is older than the release.
  if (left.before.length === 0 || right.before.length === 0) return right.before.length - left.before.length;
  for (const [at, identifier] of left.before.entries()) {
    const other = right.before[at];
    if (other === undefined) return 1;
    const order = compareIdentifiers(identifier, other);
    if (order !== 0) return order;
  }
  return left.before.length - right.before.length;
}
