import { StartError } from "../../lib/start-error.ts";
import { COPYING } from "./tables.ts";

/** `EX_CONFIG` of sysexits.h. */
const EXIT_CONFIG = 78;

/** Finds a row in a store into which a copy, or a restore, has not ended. */
export const FIND_UNFINISHED = `SELECT 1 AS one FROM meta WHERE key = '${COPYING}'`;

/** What a start answers then. */
export const unfinishedCopy = (): StartError =>
  new StartError(
    "The store holds only part of a copy. Run the same `agent-gateway store copy` or `backup restore` again until it ends, or choose another store.",
    EXIT_CONFIG,
  );
