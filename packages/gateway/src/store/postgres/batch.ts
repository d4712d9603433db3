import type { Connection, Submittable } from "pg";
import type { Row, StatementResult } from "../statement.ts";

/** A statement as Postgres takes it: `$1`, `$2`… and texts. */
export interface PostgresStatement {
  text: string;
  values: readonly (string | number | null)[];
}

/** What `pg` tells of a result's columns and rows. */
interface RowDescription {
  fields: ReadonlyArray<{ name: string; dataTypeID: number }>;
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
 * A name for each text that stands more than once in a transaction, so that the server reads it only once. The names end
 * with the transaction, because nothing is kept in a session; its last statement has none, for it comes after that.
 */
function namesOf(statements: readonly PostgresStatement[]): Map<string, string> {
  const names = new Map<string, string>();
  if (statements[0]?.text !== BEGIN) return names;
  const seen = new Set<string>();
  for (const { text } of statements.slice(0, -1)) {
    if (seen.has(text)) names.set(text, names.get(text) ?? `unit_${names.size + 1}`);
    seen.add(text);
  }
  return names;
}

/**
 * Statements that go to the server in one piece, as one transaction: the server skips the rest once one has failed, and
 * takes up its work again behind them.
 */
export class Batch implements Submittable {
  readonly done: Promise<StatementResult[]>;
  private readonly statements: readonly PostgresStatement[];
  private readonly results: StatementResult[] = [];
  /** Of each text, as it is described once. */
  private readonly columns = new Map<string, RowDescription["fields"]>();
  private rows: Row[] = [];
  private failure: unknown;
  private resolve!: (results: StatementResult[]) => void;
  private reject!: (error: unknown) => void;
  /** Whether any of it was given to the connection. */
  sent = false;

  /** The names that this transaction gives to statements. */
  readonly names: ReadonlyMap<string, string>;
  private readonly left: Iterable<string>;

  /** @param left names of the transaction that failed just before on this connection */
  constructor(statements: readonly PostgresStatement[], left: Iterable<string> = []) {
    this.statements = statements;
    this.names = namesOf(statements);
    this.left = left;
    this.done = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }

  submit(connection: Connection): void {
    this.sent = true;
    const { stream } = connection as unknown as { stream: { cork(): void; uncork(): void } };
    const wire = connection as unknown as Wire;
    const seen = new Set<string>();
    stream.cork();
    forget(wire, this.left);
    for (const [at, { text, values }] of this.statements.entries()) {
      const last = at === this.statements.length - 1;
      const name = last ? "" : (this.names.get(text) ?? "");
      const first = name === "" || !seen.has(text);
      // The last statement ends the transaction: behind it, a pooler may give the connection to someone else.
      if (last) forget(wire, this.names.values());
      if (first) wire.parse({ name, text, types: [] });
      wire.bind({
        statement: name,
        values: values.map((value) => (typeof value === "number" ? String(value) : value)),
      });
      if (first) wire.describe({ type: "P", name: "" });
      wire.execute({ portal: "", rows: 0 });
      seen.add(text);
    }
    wire.sync();
    stream.uncork();
  }

  handleRowDescription({ fields }: RowDescription): void {
    this.columns.set(this.statements[this.results.length]!.text, fields);
  }

  handleDataRow({ fields }: DataRow): void {
    const row: Row = {};
    const columns = this.columns.get(this.statements[this.results.length]!.text)!;
    try {
      for (const [at, { name, dataTypeID }] of columns.entries()) {
        row[name] = plainValue(dataTypeID, fields[at] ?? null);
      }
    } catch (error) {
      this.failure ??= error;
    }
    this.rows.push(row);
  }

  /** `text` ends with the number of rows, where the command has one: `INSERT 0 5`, `BEGIN`. */
  handleCommandComplete({ text }: CommandComplete): void {
    this.results.push({ changes: Number(text.slice(text.lastIndexOf(" ") + 1)) || 0, rows: this.rows });
    this.rows = [];
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
