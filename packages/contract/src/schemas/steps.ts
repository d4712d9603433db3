import * as z from "zod";
import { lazy } from "../lazy.ts";
import { ms } from "./common.ts";

/**
 * What an agent did in one turn, in order. The `length` of a `text` step counts UTF-16 code units of the message's
 * content; `input` and `result` are cut at 4 KiB. `omitted` on the last step counts the steps left out for size.
 */
export const messageStep = lazy(() =>
  z.discriminatedUnion("type", [
    z.object({
      type: z.literal("tool"),
      id: z.string(),
      name: z.string(),
      title: z.string().optional(),
      input: z.string().optional(),
      result: z.string().optional(),
      isError: z.boolean().optional(),
      startedAt: ms(),
      durationMs: z.number().optional(),
      omitted: z.number().optional(),
    }),
    z.object({ type: z.literal("thinking"), text: z.string(), omitted: z.number().optional() }),
    z.object({ type: z.literal("text"), length: z.number().int().min(0), omitted: z.number().optional() }),
  ]),
);
export type MessageStep = z.output<ReturnType<typeof messageStep>>;

/** Why a turn failed: one of the error codes, and one sentence. */
export const messageError = lazy(() => z.object({ code: z.string(), message: z.string() }));
export type MessageError = z.output<ReturnType<typeof messageError>>;
