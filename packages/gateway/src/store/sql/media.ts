import type { Sql } from "./port.ts";

/** Which files of an agent's media folder the store refers to. */
export interface MediaReferences {
  /** Whether a message, or the image or video settings of a session, name the file. */
  isNamed(agentId: string, path: string): Promise<boolean>;
}

/** A pattern for what holds this text, with `!` as the escape character. */
const holding = (text: string) => `%${text.replace(/[%_!]/g, "!$&")}%`;

export function createMedia({ read }: Sql): MediaReferences {
  return {
    async isNamed(agentId, path) {
      // As the settings, which are JSON, have it.
      const name = holding(JSON.stringify(path).slice(1, -1));
      const rows = await read(
        `SELECT 1 FROM message_media WHERE agent_id = ? AND path = ?
         UNION ALL
         SELECT 1 FROM sessions WHERE agent_id = ?
           AND (image_config LIKE ? ESCAPE '!' OR video_config LIKE ? ESCAPE '!')
         LIMIT 1`,
        [agentId, path, agentId, name, name],
      );
      return rows.length > 0;
    },
  };
}
