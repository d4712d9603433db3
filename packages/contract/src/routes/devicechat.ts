import * as z from "zod";
import { route } from "../route.ts";
import { agentParams } from "../schemas/common.ts";
import * as schemas from "../schemas/devicechat.ts";

const base = "/api/v1/agents/:agentId/devicechat";
const write = { auth: "write", tag: "devicechat" } as const;
const flags = { account: "account_id" };

export const deviceStatus = route({
  method: "GET",
  path: `${base}/status`,
  ...write,
  summary: "Show the live state of a linked device, with its QR code while one is waiting to be scanned.",
  params: agentParams,
  query: schemas.deviceAccountQuery,
  responses: { 200: schemas.deviceStatus },
  cli: { noun: "devicechat", verb: "status", args: ["agentId"], flags },
});

export const linkDevice = route({
  method: "POST",
  path: `${base}/link`,
  ...write,
  summary: "Start linking a phone; the QR code appears in the status.",
  params: agentParams,
  body: schemas.deviceAccountBody,
  bodyOptional: true,
  responses: { 200: schemas.deviceDone },
  errors: ["CONFLICT"],
  cli: { noun: "devicechat", verb: "link", args: ["agentId"], flags },
});

export const pairDevice = route({
  method: "POST",
  path: `${base}/pairing-code`,
  ...write,
  summary: "Start linking a phone with a code typed on the phone instead of a QR code.",
  params: agentParams,
  body: schemas.devicePairing,
  responses: { 200: schemas.devicePairingCode },
  errors: ["CONFLICT"],
  cli: { noun: "devicechat", verb: "pairing-code", args: ["agentId", "phoneNumber"], flags },
});

export const unlinkDevice = route({
  method: "POST",
  path: `${base}/unlink`,
  ...write,
  summary: "Log out of an account and wipe its credentials.",
  params: agentParams,
  body: schemas.deviceAccountBody,
  bodyOptional: true,
  responses: { 200: schemas.deviceDone },
  cli: { noun: "devicechat", verb: "unlink", args: ["agentId"], flags },
});

export const sendThroughDevice = route({
  method: "POST",
  path: `${base}/send`,
  ...write,
  summary: "Send a message through a linked device; used by the agents' reply tool.",
  params: agentParams,
  body: schemas.deviceSend,
  stores: true,
  responses: { 200: () => z.object({ ok: z.literal(true) }) },
  errors: ["ARTIFACT_PATH_DENIED", "UPSTREAM_UNAVAILABLE"],
});

export const listDeviceAccounts = route({
  method: "GET",
  path: `${base}/accounts`,
  ...write,
  summary: "List an agent's linked-device accounts.",
  params: agentParams,
  responses: { 200: schemas.deviceAccounts },
  cli: { noun: "devicechat", verb: "accounts", args: ["agentId"] },
});

export const createDeviceAccount = route({
  method: "POST",
  path: `${base}/accounts`,
  ...write,
  summary: "Add an account, to link another number.",
  params: agentParams,
  body: schemas.createDeviceAccount,
  responses: { 201: schemas.createdDeviceAccount },
  errors: ["CONFLICT"],
  cli: { noun: "devicechat", verb: "add-account", args: ["agentId", "id"] },
});

export const deleteDeviceAccount = route({
  method: "DELETE",
  path: `${base}/accounts/:accountId`,
  ...write,
  summary: "Log an account out, wipe it and remove it from the configuration.",
  params: schemas.deviceAccountParams,
  responses: { 200: schemas.removedDeviceAccount },
  errors: ["NOT_FOUND", "CONFLICT"],
  cli: { noun: "devicechat", verb: "delete-account", args: ["agentId", "accountId"] },
});
