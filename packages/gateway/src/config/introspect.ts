import * as z from "zod";

/** A schema without its wrappers, and what they specify. */
export interface Unwrapped {
  schema: z.ZodType;
  nullable: boolean;
  /** Undefined if there is none. */
  fallback: unknown;
  description: string | undefined;
  restart: boolean;
}

/** Unwraps defaults, optionals and the like. */
export function unwrap(outer: z.ZodType): Unwrapped {
  const result: Unwrapped = {
    schema: outer,
    nullable: false,
    fallback: undefined,
    description: undefined,
    restart: false,
  };
  for (;;) {
    const { schema } = result;
    const meta = z.globalRegistry.get(schema);
    result.description ??= meta?.description;
    result.restart ||= meta?.restart === true;
    if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault) {
      result.fallback ??= schema.def.defaultValue;
    } else if (schema instanceof z.ZodNullable) {
      result.nullable = true;
    } else if (!(schema instanceof z.ZodOptional) && !(schema instanceof z.ZodCatch)) {
      return result;
    }
    result.schema = schema.unwrap() as z.ZodType;
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Dotted paths of the keys that the schema does not have. */
export function unknownKeys(outer: z.ZodType, value: unknown, path = ""): string[] {
  const { schema } = unwrap(outer);
  const at = (key: string) => (path ? `${path}.${key}` : key);
  if (schema instanceof z.ZodObject && isObject(value)) {
    return Object.entries(value).flatMap(([key, child]) => {
      const rule = Object.hasOwn(schema.shape, key) ? schema.shape[key] : undefined;
      return rule ? unknownKeys(rule as z.ZodType, child, at(key)) : [at(key)];
    });
  }
  if (schema instanceof z.ZodArray && Array.isArray(value)) {
    const element = schema.element as z.ZodType;
    return value.flatMap((child, index) => unknownKeys(element, child, at(String(index))));
  }
  if (schema instanceof z.ZodRecord && isObject(value)) {
    const element = schema.valueType as z.ZodType;
    return Object.entries(value).flatMap(([key, child]) => unknownKeys(element, child, at(key)));
  }
  if (schema instanceof z.ZodUnion && isObject(value)) {
    const object = schema.options.find((option) => unwrap(option as z.ZodType).schema instanceof z.ZodObject);
    return object ? unknownKeys(object as z.ZodType, value, path) : [];
  }
  return [];
}
