// Only these parts of the library: its pool is not used.
import Client from "pg/lib/client.js";
import Connection from "pg/lib/connection.js";
import type { Clock } from "../../lib/clock.ts";
import type { StatementResult } from "../statement.ts";
import { Batch, type PostgresStatement } from "./batch.ts";
import { type DatabaseError, isDatabaseError } from "./errors.ts";
import { createNames, type Names } from "./names.ts";
import { clientConfig, type PostgresPlace, prefersEncryption } from "./place.ts";

/** The connection is gone, or nobody answers on it. */
export class LinkError extends Error {
  /** Whether the server may have got the statements, and done what they say. */
  readonly sent: boolean;
  constructor(sent: boolean, cause: unknown) {
    super(`The connection to the store broke: ${(cause as Error).message}`, { cause });
    this.sent = sent;
  }
}

/** One connection, for one batch at a time. */
export interface Link {
  /**
   * Runs the statements as one transaction, for at most `limitMs`.
   * @param plan `kept`: the server may keep its plans for these statements, which come often and with values that make
   *   no difference to them
   * @throws DatabaseError when one failed; nothing was changed then
   * @throws LinkError when the connection broke; it is not usable any more
   */
  run(statements: readonly PostgresStatement[], limitMs: number, plan?: "kept"): Promise<StatementResult[]>;
  /** Asks the server to give up what it is doing for this connection. */
  cancel(): void;
  readonly broken: boolean;
  /** Waits for no answer any more: what is under way fails. */
  break(): void;
  /** When it was opened, by the clock's `elapsed`. */
  readonly since: number;
  close(): void;
}

/** Time for a connection to come about. */
const CONNECT_MS = 4_000;

/** The server does not encrypt connections. */
export const isUnencrypted = (error: unknown): boolean =>
  /does not support SSL/.test((error as Error).message);

/** The server ends the connection, or does not serve it: statements of the batch that it answers may have run. */
const isAboutTheConnection = ({ severity, code = "" }: DatabaseError): boolean =>
  severity === "FATAL" || severity === "PANIC" || code.startsWith("08") || code.startsWith("57P");

async function connect(place: PostgresPlace, plain: boolean, limitMs: number): Promise<Client> {
  const client = new Client(clientConfig(place, plain, limitMs));
  // What breaks later is told to whoever waits for an answer.
  client.on("error", () => {});
  try {
    await client.connect();
    return client;
  } catch (error) {
    destroy(client);
    if (plain || !prefersEncryption(place) || !isUnencrypted(error)) throw error;
    return connect(place, true, limitMs);
  }
}

interface Inside {
  connection: { stream: { destroy(): void }; ssl: unknown };
  processID: number;
  secretKey: number;
  host: string;
  port: number;
}

const inside = (client: Client) => client as unknown as Inside;
const destroy = (client: Client) => inside(client).connection.stream.destroy();

/** Of a connection of `pg`, what its types leave out. */
interface Messenger {
  stream: { end(): void };
  connect(port: number | string, host?: string): void;
  requestSsl(): void;
  cancel(id: number, key: number): void;
  on(event: "connect" | "sslconnect" | "error", listener: () => void): void;
}

/** Tells the server, on a connection of its own, to give up what it does for `client`. */
function sendCancel(client: Client): void {
  const { processID, secretKey, host, port, connection } = inside(client);
  const messenger = new Connection({ ssl: connection.ssl } as object) as unknown as Messenger;
  const send = () => {
    messenger.cancel(processID, secretKey);
    messenger.stream.end();
  };
  messenger.on("error", () => {});
  messenger.on("connect", () => (connection.ssl ? messenger.requestSsl() : send()));
  messenger.on("sslconnect", send);
  if (host.startsWith("/")) messenger.connect(`${host}/.s.PGSQL.${port}`);
  else messenger.connect(port, host);
}

/** A name of a statement that the server does not know, or whose answer would look different by now. */
const NAME_LOST = "26000";
const NAME_OLD = "0A000";
/** Where names were lost: somebody stands between and does not say so. */
const nameless = new WeakSet<PostgresPlace>();

/** Opens a connection within `limitMs`. */
export async function openLink(place: PostgresPlace, clock: Clock, limitMs = CONNECT_MS): Promise<Link> {
  const client = await connect(place, false, Math.min(limitMs, CONNECT_MS));
  let broken = false;
  let names: Names | undefined;
  client.on("end", () => {
    broken = true;
  });
  client.on("error", () => {
    broken = true;
  });

  let left: readonly string[] = [];
  const send = async (statements: readonly PostgresStatement[], limitMs: number, plan?: "kept") => {
    const batch = new Batch(statements, left, plan && names);
    left = [];
    const giveUp = clock.after(limitMs, () => destroy(client));
    try {
      client.query(batch);
      return await batch.done;
    } catch (error) {
      const { code } = error as { code?: string };
      if (code === NAME_LOST) nameless.add(place);
      const aboutNames = batch.usesKept && (code === NAME_LOST || code === NAME_OLD);
      if (isDatabaseError(error) && !aboutNames && !isAboutTheConnection(error)) {
        left = batch.namesLeft();
        throw error;
      }
      if (error instanceof RangeError) throw error;
      broken = true;
      destroy(client);
      throw new LinkError(batch.sent, error);
    } finally {
      giveUp();
    }
  };

  // Who stands between gives a connection to many clients in turn, and tells each of a process that does not exist.
  const [answer] = await send([{ text: "SELECT pg_backend_pid() AS pid", values: [] }], limitMs);
  if (answer!.rows[0]!.pid === inside(client).processID && !nameless.has(place)) names = createNames();

  return {
    run: send,
    cancel: () => sendCancel(client),
    break: () => destroy(client),
    since: clock.elapsed(),
    get broken() {
      return broken;
    },
    close() {
      broken = true;
      void client.end().catch(() => {});
    },
  };
}
