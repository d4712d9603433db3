import type { Changelog } from "@agent-gateway/contract";
import { compareVersions, isVersion } from "./version.ts";

type Entry = Changelog["entries"][number];

/** `## 1.2.3`, `## [1.2.3] - 2026-01-02`, `## v1.2.3 (2026-01-02)` */
const RELEASE = /^##[ \t]+\[?v?(\d[0-9A-Za-z.+-]{0,255})(?=[\]\s]|$)(.*)$/;
const HEADING = /^##?(?:[ \t]|$)/;
const DAY = /\b(\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01]))\b/;
/** Nobody reads more. */
const MAX_ENTRIES = 500;

/** The releases of a changelog, in the order in which it has them. */
export function readChangelog(text: string): Entry[] {
  const entries: Entry[] = [];
  let lines: string[] | undefined;
  let head: Omit<Entry, "notes"> | undefined;
  const finish = () => {
    if (head && lines) entries.push({ ...head, notes: lines.join("\n").trim() });
    head = undefined;
    lines = undefined;
  };
  for (const line of text.split(/\r?\n/)) {
    if (!HEADING.test(line)) {
      lines?.push(line);
      continue;
    }
    finish();
    const [, version, rest = ""] = RELEASE.exec(line) ?? [];
    if (version === undefined || !isVersion(version)) continue;
    head = { version, date: DAY.exec(rest)?.[1] ?? null };
    lines = [];
  }
  finish();
  return entries;
}

/** The releases after `from` (null: from the first one on) up to `to`, newest first. */
export function releasesBetween(entries: readonly Entry[], from: string | null, to: string): Entry[] {
  return entries
    .filter(
      ({ version }) =>
        (from === null || compareVersions(version, from) > 0) && compareVersions(version, to) <= 0,
    )
    .sort((a, b) => compareVersions(b.version, a.version))
    .slice(0, MAX_ENTRIES);
}
