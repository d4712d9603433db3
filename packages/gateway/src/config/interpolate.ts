const VARIABLE = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g;
/** Deeper values are left as they are; no configuration key is nested deeper. */
const MAX_DEPTH = 64;

/** Values by name, the strongest first. */
export type Sources = readonly Readonly<Record<string, string | undefined>>[];

/**
 * Value of a variable: the first source that has it wins. An empty value gives way to a later non-empty one, because
 * tools pass on variables that their user never set as empty.
 */
export function lookUp(name: string, sources: Sources): string | undefined {
  let found: string | undefined;
  for (const source of sources) {
    const value = Object.hasOwn(source, name) ? source[name] : undefined;
    if (value) return value;
    found ??= value;
  }
  return found;
}

/** True when the text refers to a variable. */
export function hasVariable(text: string): boolean {
  return text.search(VARIABLE) !== -1;
}

/** A variable that is not in any source. */
export interface Missing {
  name: string;
  /** Dotted path of the string inside the value. */
  path: string;
}

export interface Interpolated {
  value: unknown;
  missing: Missing[];
  /** Values that were inserted. */
  used: Set<string>;
}

/**
 * Replaces `${VAR}` in every string of a JSON value; inserted text is not expanded again. A string with a missing
 * variable is left out of its object or array. Never throws.
 */
export function interpolate(value: unknown, sources: Sources): Interpolated {
  const missing: Missing[] = [];
  const used = new Set<string>();

  function text(raw: string, path: string): string | undefined {
    let complete = true;
    const result = raw.replace(VARIABLE, (_, name: string) => {
      const found = lookUp(name, sources);
      if (found === undefined) {
        complete = false;
        missing.push({ name, path });
        return "";
      }
      used.add(found);
      return found;
    });
    return complete ? result : undefined;
  }

  function walk(node: unknown, path: string, depth: number): unknown {
    if (typeof node === "string") return text(node, path);
    if (typeof node !== "object" || node === null || depth > MAX_DEPTH) return node;
    const entries = Object.entries(node)
      .map(([key, child]) => [key, walk(child, path ? `${path}.${key}` : key, depth + 1)] as const)
      .filter(([, child]) => child !== undefined);
    return Array.isArray(node) ? entries.map(([, child]) => child) : Object.fromEntries(entries);
  }

  return { value: walk(value, "", 0), missing, used };
}
