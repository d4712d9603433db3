export { openSqliteSide } from "./copy-side.ts";
export { openSqlite } from "./driver.ts";
export { inspectStore, type StoreFacts } from "./inspect.ts";
export { openVersions } from "./versions.ts";
