export type { Connection, Param, Row } from "./connection.ts";
export { type Database, openDatabase } from "./database.ts";
export { createExports, createImports, createRemoval } from "./moving.ts";
export type { Job, JobContext, Statement, StatementResult } from "./protocol.ts";
export { createSearch } from "./search/index.ts";
export type { Tables } from "./tables.ts";
export type { IdleTask } from "./worker-loop.ts";
