import type { Sql } from "./port.ts";

/** Which files of an agent's media folder the store refers to. */
export interface MediaReferences {
  /** Whether a message names the file. */
  isNamed(agentId: string, path: string): Promise<boolean>;
  /** The image and video settings of all sessions as one text, in which any of their files stands by its path. */
  settings(agentId: string): Promise<string>;
}

export function createMedia({ read, slow }: Sql): MediaReferences {
  return {
    async isNamed(agentId, path) {
      const rows = await read("SELECT 1 FROM message_media WHERE agent_id = ? AND path = ? LIMIT 1", [
        agentId,
        path,
      ]);
      return rows.length > 0;
    },
    async settings(agentId) {
      const rows = await slow<{ text: string }>(
        `SELECT coalesce(image_config, '') || coalesce(video_config, '') AS text FROM sessions
         WHERE agent_id = ? AND (image_config IS NOT NULL OR video_config IS NOT NULL)`,
        [agentId],
      );
      return rows.map(({ text }) => text).join("\n");
    },
  };
}
