export { openPostgresSide } from "./copy-side.ts";
export { openPostgres } from "./driver.ts";
export { inspectPostgres, type PostgresFacts } from "./inspect.ts";
export type { PostgresPlace } from "./place.ts";
export { stageRestore } from "./restore.ts";
export { openPostgresVersions } from "./versions.ts";
