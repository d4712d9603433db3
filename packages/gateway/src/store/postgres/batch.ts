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

/**
 * Statements that go to the server in one piece, as one transaction: the server skips the rest once one has failed, and
 * takes up its work again behind them.
 */
export class Batch implements Submittable {
  readonly done: Promise<StatementResult[]>;
  private readonly statements: readonly PostgresStatement[];
  private readonly results: StatementResult[] = [];
  private columns: RowDescription["fields"] = [];
  private rows: Row[] = [];
  private failure: unknown;
  private resolve!: (results: StatementResult[]) => void;
  private reject!: (error: unknown) => void;
  /** Whether any of it was given to the connection. */
  sent = false;

  constructor(statements: readonly PostgresStatement[]) {
    this.statements = statements;
    this.done = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }

  submit(connection: Connection): void {
    this.sent = true;
    const { stream } = connection as unknown as { stream: { cork(): void; uncork(): void } };
    const wire = connection as unknown as Wire;
    stream.cork();
    for (const { text, values } of this.statements) {
      wire.parse({ name: "", text, types: [] });
      wire.bind({ values: values.map((value) => (typeof value === "number" ? String(value) : value)) });
      wire.describe({ type: "P", name: "" });
      wire.execute({ portal: "", rows: 0 });
    }
    wire.sync();
    stream.uncork();
  }

  handleRowDescription({ fields }: RowDescription): void {
    this.columns = fields;
  }

  handleDataRow({ fields }: DataRow): void {
    const row: Row = {};
    try {
      for (const [at, { name, dataTypeID }] of this.columns.entries()) {
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
    this.columns = [];
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

/** What of a connection of `pg` a batch is written with. */
interface Wire {
  parse(message: { name: string; text: string; types: number[] }): void;
  bind(message: { values: readonly (string | null)[] }): void;
  describe(message: { type: "P"; name: string }): void;
  execute(message: { portal: string; rows: number }): void;
  sync(): void;
}
