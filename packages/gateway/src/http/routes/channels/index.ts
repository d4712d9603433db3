export * from "./access.ts";
export * from "./devicechat.ts";
export * from "./health.ts";
