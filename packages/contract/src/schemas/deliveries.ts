import * as z from "zod";
import { lazy } from "../lazy.ts";
import { channelName } from "./channel-health.ts";
import { ms } from "./common.ts";

export const deliveryState = lazy(() => z.enum(["unknown", "failed"]));
export const delivery = lazy(() =>
  z.object({
    id: z.number(),
    channel: channelName(),
    account: z.string().describe("Account of `devicechat`; empty elsewhere."),
    chatId: z.string().describe("The provider's id of the chat."),
    state: deliveryState().describe(
      "`unknown`: the connection broke, or the gateway ended, before the provider had answered. `failed`: it was refused.",
    ),
    purpose: z.string().describe("What it is: the answer, a notice, a pairing code."),
    text: z.string().nullable().describe("Null for a pairing code, and when the text is no longer kept."),
    createdAt: ms(),
    settledAt: ms().nullable(),
    reason: z.string().nullable(),
    sendable: z.boolean().describe("False once it was sent again, or when its content is no longer kept."),
  }),
);
export type Delivery = z.output<ReturnType<typeof delivery>>;
