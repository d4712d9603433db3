import { GatewayError } from "@agent-gateway/contract";

/** What SQLite says when the disk, not the statement, is to blame; its thread passes on no code. */
const DISK = /database or disk is full|disk I\/O error|readonly database|unable to open database file/;

/** A unit may have been stored, although its caller was refused. */
export class UnsettledError extends GatewayError {
  /** Resolves, once the store is back, to whether it was; nothing that is asked for later comes before it. */
  readonly outcome: Promise<boolean>;
  constructor(options: ConstructorParameters<typeof GatewayError>[2], outcome: Promise<boolean>) {
    super(
      "UNAVAILABLE",
      "The gateway's store stopped answering; whether this was stored will be seen when it is back.",
      options,
    );
    this.outcome = outcome;
  }
}

/** Whether the store could not take a unit for the moment, whatever was in it: it is away, or its disk is full. */
export const cannotStoreNow = (error: unknown): boolean =>
  error instanceof GatewayError
    ? error.code === "UNAVAILABLE"
    : error instanceof Error && (DISK.test(error.message) || error.message === "The database is closed.");
