import * as z from "zod";

// https://core.telegram.org/bots/api#update, as far as it is read here. What is odd in a field that only adorns a
// message is left out instead of losing the message.
function updateSchema() {
  const id = z.number().int();
  const text = z.string().optional().catch(undefined);
  const user = z.object({
    id,
    is_bot: z.boolean().catch(false),
    first_name: text,
    last_name: text,
    username: text,
  });
  // Groups have negative ids: servers that leave the type out are understood by that.
  const chat = z
    .object({ id, type: text, title: text })
    .transform((given) => ({ ...given, type: given.type ?? (given.id < 0 ? "group" : "private") }));
  const entity = z.object({
    type: z.string(),
    offset: z.number().int().min(0),
    length: z.number().int().min(0),
    user: user.optional().catch(undefined),
  });
  const entities = z.array(entity).optional().catch(undefined);
  const file = z.object({
    file_id: z.string().min(1),
    file_name: text,
    mime_type: text,
    file_size: z.number().optional().catch(undefined),
  });
  const attached = file.optional().catch(undefined);
  const thread = {
    message_thread_id: id.optional().catch(undefined),
    is_topic_message: z.boolean().optional().catch(undefined),
  };

  const message = z.object({
    message_id: id.optional().catch(undefined),
    date: z.number().optional().catch(undefined),
    chat,
    from: user.optional(),
    ...thread,
    is_automatic_forward: z.boolean().optional().catch(undefined),
    text,
    caption: text,
    entities,
    caption_entities: entities,
    photo: z.array(file).optional().catch(undefined),
    document: attached,
    animation: attached,
    voice: attached,
    audio: attached,
    video: attached,
    video_note: attached,
    reply_to_message: z
      .object({
        message_id: id,
        from: user.optional(),
        text,
        caption: text,
        forum_topic_created: z.unknown().optional(),
      })
      .optional()
      .catch(undefined),
    quote: z.object({ text: z.string() }).optional().catch(undefined),
    migrate_to_chat_id: id.optional().catch(undefined),
  });

  const callback = z.object({
    id: z.string().min(1),
    from: user,
    data: text,
    message: z
      .object({ chat, ...thread })
      .optional()
      .catch(undefined),
  });

  return z.object({
    update_id: id,
    message: message.optional(),
    callback_query: callback.optional(),
  });
}

type Schema = ReturnType<typeof updateSchema>;
/** Built with the first update: gateways without this channel start without it. */
let schema: Schema | undefined;

export type Update = z.infer<Schema>;
export type Message = NonNullable<Update["message"]>;
export type MessageEntity = NonNullable<Message["entities"]>[number];
export type ReceivedFile = NonNullable<Message["document"]>;
export type CallbackQuery = NonNullable<Update["callback_query"]>;
export type User = CallbackQuery["from"];

/** An update in the shape that is read here; undefined when it is none. */
export function readUpdate(value: unknown): Update | undefined {
  schema ??= updateSchema();
  return schema.safeParse(value).data;
}
