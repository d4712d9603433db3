import type { Model } from "@agent-gateway/contract";

/** A parsed model id: `claude-sonnet-4-5-20250929` is version 4.5 of `claude-sonnet`, dated 20250929. */
export interface ModelName {
  /** Words of the id without vendor path, version and date, joined by `-`. */
  family: string;
  version: readonly number[];
  /** yyyymmdd, or as much of it as the id has; Infinity for an id without a date, which tracks the newest. */
  date: number;
}

/** Parses a model id. Ignores vendor paths (`anthropic/…`) and `latest`. */
export function parseModelName(id: string): ModelName {
  const words: string[] = [];
  const version: number[] = [];
  let date = "";
  for (const token of id
    .toLowerCase()
    .split("/")
    .at(-1)!
    .split(/[-_:@]/)) {
    if (/^v?\d+(?:\.\d+)*$/.test(token)) {
      const digits = token.replace(/^v/, "");
      // A year starts a date, which may contain dashes: 2024-11-20.
      if (date.length > 0 || /^\d{4,}$/.test(digits)) date += digits;
      else version.push(...digits.split(".").map(Number));
    } else if (token !== "" && token !== "latest") words.push(token);
  }
  return { family: words.join("-"), version, date: date === "" ? Number.POSITIVE_INFINITY : Number(date) };
}

/** Positive when `a` is newer than `b`. */
export function compareModelNames(a: ModelName, b: ModelName): number {
  for (let i = 0; i < Math.max(a.version.length, b.version.length); i++) {
    const difference = (a.version[i] ?? 0) - (b.version[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return a.date === b.date ? 0 : a.date - b.date;
}

/** Aliases of a family: all its words, and its words without the vendor (`sonnet` for `claude-sonnet`). */
function familyAliases(family: string): string[] {
  const cut = family.indexOf("-");
  return cut < 0 ? [family] : [family, family.slice(cut + 1)];
}

/** The newest model of each family, by every bare alias of the family that is not ambiguous. */
export function newestByFamily(models: readonly Model[]): Map<string, Model> {
  const newest = new Map<string, { model: Model; name: ModelName }>();
  for (const model of models) {
    const name = parseModelName(model.id);
    // An id without a version has no older members to distinguish.
    if (name.version.length === 0 || name.family === "") continue;
    const held = newest.get(name.family);
    if (!held || compareModelNames(name, held.name) > 0) newest.set(name.family, { model, name });
  }
  const aliases = new Map<string, Model | null>();
  for (const [family, { model }] of newest) {
    for (const alias of familyAliases(family)) aliases.set(alias, aliases.has(alias) ? null : model);
  }
  for (const [family, { model }] of newest) aliases.set(family, model);
  return new Map([...aliases].filter((entry): entry is [string, Model] => entry[1] !== null));
}

/**
 * Moves a bare family alias from an older member to the newest one; the older one gets its version appended:
 * `sonnet` becomes `sonnet-4.5`.
 */
export function withFamilyAliases(models: readonly Model[]): Model[] {
  const newest = newestByFamily(models);
  const moved = new Map<string, string>();
  for (const model of models) {
    const bare = model.alias.toLowerCase();
    const heir = newest.get(bare);
    const { family, version } = parseModelName(model.id);
    if (!heir || heir.id === model.id || !familyAliases(family).includes(bare)) continue;
    moved.set(heir.id, model.alias);
    moved.set(model.id, `${model.alias}-${version.join(".")}`);
  }
  return models.map((model) => ({ ...model, alias: moved.get(model.id) ?? model.alias }));
}
