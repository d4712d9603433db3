import { once } from "node:events";

/** Characters that a terminal would act on instead of showing: messages can come from anyone. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;
const TIME_FIELDS = /^(?:ts|createdAt|lastActivity|spawnedAt|startedAt|expires_at|expiresAt)$/;
const MAX_CELL = 60;

type Row = Record<string, unknown>;
const isRow = (value: unknown): value is Row =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Text made safe for a terminal; unchanged for a file or another program. */
export const printable = (text: string, stream: { isTTY?: boolean } = process.stdout): string =>
  stream.isTTY ? text.replace(CONTROL, "") : text;

/** Writes to stdout, waiting for a slow reader. */
export async function print(text: string | Uint8Array): Promise<void> {
  if (!process.stdout.write(text)) await once(process.stdout, "drain");
}

export const printJson = (value: unknown): Promise<void> => print(`${JSON.stringify(value ?? null)}\n`);

/** A remark beside the result, on stderr; dim in a terminal. */
export function note(text: string): void {
  const line = printable(text, process.stderr);
  process.stderr.write(
    process.stderr.isTTY && !process.env.NO_COLOR ? `\x1b[2m${line}\x1b[22m\n` : `${line}\n`,
  );
}

function cell(name: string, value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number" && TIME_FIELDS.test(name) && process.stdout.isTTY) {
    return new Date(value).toLocaleString("sv-SE");
  }
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

const oneLine = (text: string) => printable(text.replace(/\s+/g, " ").trim());
const cut = (text: string) => (text.length > MAX_CELL ? `${text.slice(0, MAX_CELL - 1)}…` : text);

const WIDE =
  /\p{Emoji_Presentation}|\p{Script=Han}|\p{Script=Hangul}|\p{Script=Hiragana}|\p{Script=Katakana}/u;

/** Columns of a terminal: East Asian characters and emoji take two, combining marks none. */
const width = (text: string) =>
  [...text].reduce((sum, char) => sum + (WIDE.test(char) ? 2 : /\p{Mark}/u.test(char) ? 0 : 1), 0);

const isBlank = (value: unknown) =>
  value === undefined || value === null || value === "" || ["[]", "{}"].includes(JSON.stringify(value));

/** Rows as lines: a table with headings in a terminal, else tab-separated values. */
export function table(rows: readonly Row[], tty: boolean = process.stdout.isTTY): string {
  const all = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  // Empty columns only take room from the others.
  const names = tty ? all.filter((name) => rows.some((row) => !isBlank(row[name]))) : all;
  const cells = rows.map((row) => names.map((name) => oneLine(cell(name, row[name]))));
  if (!tty) return cells.map((line) => `${line.join("\t")}\n`).join("");
  const shown = [names, ...cells.map((line) => line.map(cut))];
  const widths = names.map((_, at) => Math.max(...shown.map((line) => width(line[at]!))));
  return shown
    .map((line) => line.map((text, at) => text + " ".repeat(widths[at]! - width(text))).join("  "))
    .map((line) => `${line.trimEnd()}\n`)
    .join("");
}

/** Any JSON reply as text for people. */
export function render(value: unknown): string {
  if (value === undefined || value === null) return "done\n";
  if (!isRow(value)) return `${printable(typeof value === "string" ? value : JSON.stringify(value))}\n`;
  if (typeof value.response === "string") return `${printable(value.response)}\n`;
  // A screen: its lines are what counts.
  if (typeof value.text === "string" && typeof value.cols === "number")
    return `${value.text
      .split("\n")
      .map((line) => printable(line))
      .join("\n")}\n`;
  const entries = Object.entries(value);
  const list = entries.find(([, child]) => Array.isArray(child)) as [string, unknown[]] | undefined;
  const wrapped = entries.length === 1 && isRow(entries[0]![1]) ? entries[0]![1] : undefined;
  if (wrapped) return render(wrapped);
  if (list?.[1].every(isRow) && (entries.length === 1 || value.messages !== undefined)) {
    const rest = entries.filter(([name, child]) => name !== list[0] && child !== null && child !== false);
    const more = rest.map(([name, child]) => `${name}: ${cell(name, child)}\n`).join("");
    if (!process.stdout.isTTY) return table(list[1] as Row[]);
    return list[1].length === 0 ? "none\n" : table(list[1] as Row[]) + more;
  }
  if (list && entries.length === 1) return list[1].map((entry) => `${printable(cell("", entry))}\n`).join("");
  return entries
    .map(([name, child]) =>
      Array.isArray(child) && child.length > 0 && child.every(isRow)
        ? `${name}:\n${table(child)}`
        : `${name}: ${oneLine(cell(name, child))}\n`,
    )
    .join("");
}

/** Prints a JSON reply, and the attachments of an agent's answer on stderr. */
export async function showReply(value: unknown, json: boolean): Promise<void> {
  if (json) return printJson(value);
  await print(render(value));
  const { session_id, attachments } = (value ?? {}) as Record<string, unknown>;
  if (Array.isArray(attachments))
    for (const { type, name, url } of attachments as Record<string, string>[])
      note(`[${name ?? type} ${url}]`);
  if (typeof session_id === "string") note(`[session ${session_id}]`);
}

/** A status line on stderr that overwrites itself; nothing without a terminal. */
export interface Progress {
  update(text: string): void;
  done(): void;
}
const UPDATE_MS = 100;

export function createProgress(): Progress {
  const { stderr } = process;
  let shown = 0;
  return {
    update(text) {
      if (!stderr.isTTY || Date.now() - shown < UPDATE_MS) return;
      shown = Date.now();
      stderr.write(`\r\x1b[K${text}`);
    },
    done() {
      if (shown > 0) stderr.write("\r\x1b[K");
      shown = 0;
    },
  };
}

/** `1.2 GB`: decimal units, as disks are sold. */
export function bytes(count: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  const step = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, count)) / 3));
  return `${step === 0 ? count : (count / 1000 ** step).toFixed(1)} ${units[step]}`;
}
