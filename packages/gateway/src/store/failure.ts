import { GatewayError } from "@agent-gateway/contract";

/** What SQLite says when the disk, not the statement, is to blame; its thread passes on no code. */
const DISK = /database or disk is full|disk I\/O error|readonly database|unable to open database file/;

/** Whether the store could not take a unit for the moment, whatever was in it: it is away, or its disk is full. */
export const cannotStoreNow = (error: unknown): boolean =>
  error instanceof GatewayError
    ? error.code === "UNAVAILABLE"
    : error instanceof Error && (DISK.test(error.message) || error.message === "The database is closed.");
