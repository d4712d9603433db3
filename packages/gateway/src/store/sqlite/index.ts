export { openSqliteSide } from "./copy-side.ts";
export type { Loss } from "./downgrade.ts";
export { openSqlite } from "./driver.ts";
export { inspectStore, type StoreFacts } from "./inspect.ts";
export { openVersions, type StoreVersions } from "./versions.ts";
