export { openPostgres } from "./driver.ts";
export type { PostgresPlace } from "./place.ts";
