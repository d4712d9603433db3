import type { Connection, Submittable } from "pg";
import type { Row, StatementResult } from "../statement.ts";
import { type Columns, type Named, type Names, newName } from "./names.ts";

/** A statement as Postgres takes it: `$1`, `$2`… and texts. */
export interface PostgresStatement {
  text: string;
  values: readonly (string | number | null)[];
}

/** What `pg` tells of a result's columns and rows. */
interface RowDescription {
  fields: Columns;
}
interface DataRow {
  fields: ReadonlyArray<string | null>;
}
interface CommandComplete {
  text: string;
}

const INT8 = 20;
/** Types of Postgres that become numbers: those, int2, int4, oid, float4, float8, numeric. */
const NUMBERS = new Set([INT8, 21, 23, 26, 700, 701, 1700]);

/**
 * The one conversion of what Postgres answers: numbers of every type become plain numbers, everything else is text.
 * @throws RangeError for a whole number that a plain number cannot hold
 */
export function plainValue(type: number, text: string | null): string | number | null {
  if (text === null || !NUMBERS.has(type)) return text;
  const value = Number(text);
  if (type === INT8 && !Number.isSafeInteger(value)) {
    throw new RangeError(`The store holds a number that is too large: ${text}.`);
  }
  return value;
}

const BEGIN = "BEGIN";

/**
 * Names for the texts of a transaction that stand in it more than once, other than those that the connection keeps. They
 * end with the transaction; its last statement has none, for it comes after that.
 */
function passingNames(
  statements: readonly PostgresStatement[],
  kept: ReadonlyMap<string, Named>,
): Map<string, Named> {
  const names = new Map<string, Named>();
  if (statements[0]?.text !== BEGIN) return names;
  const seen = new Set<string>();
  for (const { text } of statements.slice(0, -1)) {
    if (seen.has(text) && !names.has(text) && !kept.has(text))
      names.set(text, newName(`unit_${names.size + 1}`));
    seen.add(text);
  }
  return names;
}

function keptNames(statements: readonly PostgresStatement[], names: Names | undefined): Map<string, Named> {
  const kept = new Map<string, Named>();
  if (!names) return kept;
  for (const { text } of statements) {
    const named = kept.get(text) ?? names.of(text);
    if (named) kept.set(text, named);
  }
  return kept;
}

/**
 * Statements that go to the server in one piece, as one transaction: the server skips the rest once one has failed, and
 * takes up its work again behind them.
 */
export class Batch implements Submittable {
  readonly done: Promise<StatementResult[]>;
  private readonly statements: readonly PostgresStatement[];
  private readonly results: StatementResult[] = [];
  private columns: Columns = [];
  private rows: Row[] = [];
  private failure: unknown;
  private resolve!: (results: StatementResult[]) => void;
  private reject!: (error: unknown) => void;
  /** Whether any of it was given to the connection. */
  sent = false;

  private readonly kept: ReadonlyMap<string, Named>;
  private readonly passing: ReadonlyMap<string, Named>;
  private readonly left: Iterable<string>;
  /** Where a text was sent with a name to keep. */
  private readonly fresh: Array<{ at: number; named: Named }> = [];

  /**
   * @param left names that the batch before, which failed, may have left on this connection
   * @param names what the connection keeps by name, where it does
   */
  constructor(statements: readonly PostgresStatement[], left: Iterable<string> = [], names?: Names) {
    this.statements = statements;
    this.kept = keptNames(statements, names);
    this.passing = passingNames(statements, this.kept);
    this.left = left;
    this.done = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }

  /** Whether it relies on what an earlier batch left. */
  get usesKept(): boolean {
    return this.kept.size > this.fresh.length;
  }

  /** Names that it may have left, when it has failed. */
  namesLeft(): string[] {
    const unsure = this.fresh.filter(({ at }) => at >= this.results.length);
    for (const { named } of unsure) named.sent = false;
    return [...this.passing.values(), ...unsure.map(({ named }) => named)].map(({ name }) => name);
  }

  submit(connection: Connection): void {
    this.sent = true;
    const { stream } = connection as unknown as { stream: { cork(): void; uncork(): void } };
    const wire = connection as unknown as Wire;
    stream.cork();
    forget(wire, this.left);
    for (const [at, { text, values }] of this.statements.entries()) {
      const last = at === this.statements.length - 1;
      const named = last ? this.kept.get(text) : this.nameOf(text);
      const name = named?.name ?? "";
      // The last statement ends the transaction: behind it, a pooler may give the connection to someone else.
      if (last) {
        forget(
          wire,
          [...this.passing.values()].map((passing) => passing.name),
        );
      }
      const first = !named?.sent;
      if (first) wire.parse({ name, text, types: [] });
      if (named && first) {
        named.sent = true;
        if (this.kept.has(text)) this.fresh.push({ at, named });
      }
      wire.bind({
        statement: name,
        values: values.map((value) => (typeof value === "number" ? String(value) : value)),
      });
      if (first) wire.describe({ type: "P", name: "" });
      wire.execute({ portal: "", rows: 0 });
    }
    this.columns = this.knownColumns();
    wire.sync();
    stream.uncork();
  }

  private nameOf(text: string): Named | undefined {
    return this.kept.get(text) ?? this.passing.get(text);
  }

  /** Of the statement that answers next, where they were described before. */
  private knownColumns(): Columns {
    const next = this.statements[this.results.length];
    return (next && this.nameOf(next.text)?.columns) ?? [];
  }

  handleRowDescription({ fields }: RowDescription): void {
    this.columns = fields;
  }

  handleDataRow({ fields }: DataRow): void {
    const row: Row = {};
    const { columns } = this;
    try {
      for (let at = 0; at < columns.length; at++) {
        const { name, dataTypeID } = columns[at]!;
        row[name] = plainValue(dataTypeID, fields[at] ?? null);
      }
    } catch (error) {
      this.failure ??= error;
    }
    this.rows.push(row);
  }

  /** `text` ends with the number of rows, where the command has one: `INSERT 0 5`, `BEGIN`. */
  handleCommandComplete({ text }: CommandComplete): void {
    const named = this.nameOf(this.statements[this.results.length]!.text);
    if (named) named.columns ??= this.columns;
    this.results.push({ changes: Number(text.slice(text.lastIndexOf(" ") + 1)) || 0, rows: this.rows });
    this.rows = [];
    this.columns = this.knownColumns();
  }

  handleEmptyQuery(): void {}

  handleError(error: unknown): void {
    this.reject(error);
  }

  handleReadyForQuery(): void {
    if (this.failure) this.reject(this.failure);
    else this.resolve(this.results);
  }
}

function forget(wire: Wire, names: Iterable<string>): void {
  for (const name of names) wire.close({ type: "S", name });
}

/** What of a connection of `pg` a batch is written with. */
interface Wire {
  parse(message: { name: string; text: string; types: number[] }): void;
  bind(message: { statement: string; values: readonly (string | null)[] }): void;
  describe(message: { type: "P"; name: string }): void;
  execute(message: { portal: string; rows: number }): void;
  close(message: { type: "S"; name: string }): void;
  sync(): void;
}
