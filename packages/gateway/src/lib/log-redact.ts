import { cutToBytes } from "./cut-text.ts";
import { isSecretName } from "./secret-names.ts";

const MASK = "[redacted]";
const MAX_DEPTH = 6;
const MAX_ITEMS = 100;
/** Bytes of one text: programs and providers choose what some say. */
const MAX_TEXT_BYTES = 16 * 1024;
/** Shorter values are too common to be masked wherever they occur. */
const MIN_SECRET = 8;

const cut = (text: string) => cutToBytes(text, MAX_TEXT_BYTES);

function plainError(error: Error, depth: number): Record<string, unknown> {
  const { name, message, stack, cause } = error;
  const code = (error as NodeJS.ErrnoException).code;
  return {
    type: name,
    message: cut(message),
    stack: cut(stack ?? ""),
    ...(code !== undefined && { code }),
    ...(cause !== undefined && { cause: redactValue(cause, depth + 1) }),
  };
}

function redactValue(value: unknown, depth: number): unknown {
  if (typeof value === "string") return cut(value);
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth > MAX_DEPTH) return "[too deep]";
  if (value instanceof Error) return plainError(value, depth);
  if (value instanceof Date || ArrayBuffer.isView(value)) return String(value);
  if (value instanceof Map || value instanceof Set) return `[${value.constructor.name} of ${value.size}]`;
  if (Array.isArray(value)) return value.slice(0, MAX_ITEMS).map((item) => redactValue(item, depth + 1));
  return redactFields(value as Record<string, unknown>, depth);
}

/** A copy of log fields as plain data; fields with a secret's name are masked, at any reasonable depth. */
export function redactFields(fields: Record<string, unknown>, depth = 0): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => {
      const plain = typeof value === "number" || typeof value === "boolean" || value == null;
      // A list under such a name may hold objects that are worth seeing; its texts are not.
      if (isSecretName(name) && !plain) return [name, MASK];
      return [name, redactValue(value, depth + 1)];
    }),
  );
}

export interface SecretMask {
  /** From now on this value is masked wherever it occurs; values under 8 characters are too common for that. */
  add(value: string): void;
  mask(line: string): string;
}

/** Masks known secret values in finished lines, also in the form that JSON gives them. */
export function createSecretMask(): SecretMask {
  const known = new Set<string>();
  let pattern: RegExp | null = null;
  return {
    add(value) {
      if (value.length < MIN_SECRET || known.has(value)) return;
      known.add(value).add(JSON.stringify(value).slice(1, -1));
      // Longest first, so that a secret that contains another one is masked as a whole.
      const parts = [...known].sort((a, b) => b.length - a.length).map((text) => RegExp.escape(text));
      pattern = new RegExp(parts.join("|"), "g");
    },
    mask: (line) => (pattern ? line.replace(pattern, MASK) : line),
  };
}
