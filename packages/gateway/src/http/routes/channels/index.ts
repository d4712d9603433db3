export * from "./access.ts";
export { createDeviceSend } from "./device-send.ts";
export * from "./devicechat.ts";
export * from "./health.ts";
