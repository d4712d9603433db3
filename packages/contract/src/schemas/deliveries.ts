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
      "`unknown`: the connection broke, or the gateway stopped, before the provider answered. `failed`: the provider refused it.",
    ),
    purpose: z.string().describe("Kind of reply: the answer, a notice, a pairing code."),
    text: z.string().nullable().describe("Null for a pairing code, or if the text is no longer kept."),
    createdAt: ms(),
    settledAt: ms().nullable(),
    reason: z.string().nullable(),
    sendable: z.boolean().describe("False once it has been sent again, or if its content is no longer kept."),
  }),
);
export type Delivery = z.output<ReturnType<typeof delivery>>;
