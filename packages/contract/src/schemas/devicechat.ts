import * as z from "zod";
import { lazy } from "../lazy.ts";
import { ACCOUNT_ID, MAX_LABEL_CHARS, MAX_SENDER_ID_CHARS, PHONE_NUMBER } from "../limits.ts";
import { agentParams } from "./common.ts";

const ok = lazy(() => z.literal(true));
const accountId = lazy(() =>
  z.string().max(64).optional().describe("Account; the agent's first one when unset."),
);
const text = (what: string) => z.string().optional().describe(what);

export const deviceLinkStatus = lazy(() => z.enum(["unlinked", "pending_scan", "linked", "reconnecting"]));
export const deviceAccount = lazy(() =>
  z.object({
    id: z.string(),
    label: z.string().nullable().describe("Display name."),
    connected: z.boolean(),
    status: deviceLinkStatus(),
    number: z.string().nullable().describe("In international format, once linked."),
    dm_policy: z.string().nullable(),
    dm_allowlist: z.array(z.string()),
    group_policy: z.string().nullable(),
    group_allowlist: z.array(z.string()),
    require_mention: z.boolean().nullable(),
    pairing: z.boolean(),
  }),
);
export const deviceAccounts = lazy(() => z.object({ accounts: z.array(deviceAccount()) }));

export const deviceAccountQuery = lazy(() => z.object({ account_id: accountId() }));
export const deviceAccountBody = lazy(() => z.object({ account_id: accountId() }));
export const deviceStatus = lazy(() =>
  z.object({
    account_id: z.string(),
    status: deviceLinkStatus(),
    loggedOut: z.boolean().describe("True if the phone ended the link."),
    qr: z.string().optional().describe("QR code to scan with the phone, as an image data URL."),
    pairingCode: z.string().optional().describe("Code to type on the phone."),
    phoneNumber: z.string().optional().describe("In international format, once linked."),
  }),
);
export const deviceDone = lazy(() => z.object({ ok: ok(), account_id: z.string() }));

const phoneNumber = lazy(() =>
  z.string({ error: "is required" }).trim().min(1, { error: "is required" }).regex(PHONE_NUMBER, {
    error: "must be an international number (E.164)",
  }),
);
export const devicePairing = lazy(() =>
  z.object({
    phoneNumber: phoneNumber().describe("The phone's own number, in international format."),
    account_id: accountId(),
  }),
);
export const devicePairingCode = lazy(() => z.object({ pairingCode: z.string(), account_id: z.string() }));

export const deviceSend = lazy(() =>
  z
    .object({
      jid: z
        .string({ error: "is required" })
        .trim()
        .min(1, { error: "is required" })
        .max(MAX_SENDER_ID_CHARS),
      text: text("Markdown."),
      image_path: text("Absolute path of an image in the agent's workspace or media."),
      account_id: z
        .string()
        .max(64)
        .optional()
        .describe(
          "Default: the account of the chat's latest message, then `default`, then the only account.",
        ),
      reply_to_message_id: text("Message to quote."),
      as_document: z.boolean().optional().describe("Sends the image uncompressed, as a file."),
      message_id: text("Message whose processing reaction is removed when this one is sent."),
    })
    .refine(({ text, image_path }) => Boolean(text?.trim()) || Boolean(image_path), {
      error: "text or image_path is required",
    }),
);

export const createDeviceAccount = lazy(() =>
  z.object({
    id: z.string({ error: "is required" }).regex(ACCOUNT_ID, {
      error: "must be 1-32 of a-z 0-9 - _, start with a letter or digit, and not be default",
    }),
    label: z.string().max(MAX_LABEL_CHARS).nullable().optional().describe("Display name."),
  }),
);
export const createdDeviceAccount = lazy(() =>
  z.object({ account: deviceAccount(), accounts: z.array(deviceAccount()) }),
);
export const deviceAccountParams = lazy(() => agentParams().extend({ accountId: z.string() }));
export const removedDeviceAccount = lazy(() => z.object({ ok: ok(), accounts: z.array(deviceAccount()) }));
