import type { MessageStep, message } from "@agent-gateway/contract";
import type { StoredMessage } from "../store/index.ts";

/** A message as the API shows it. */
export type MessageRecord = NonNullable<ReturnType<typeof message>["_output"]>;

export function toRecord({ id, role, content, ts, extra, uuid }: StoredMessage): MessageRecord {
  const record: MessageRecord = { role: role === 0 ? "user" : "assistant", content, ts, sessionId: uuid, id };
  return extra === null ? record : { ...record, ...(JSON.parse(extra) as Partial<MessageRecord>) };
}

/** With the steps, if it is the agent's; one that was text alone has one step. */
export function toRecordWithSteps(row: StoredMessage): MessageRecord {
  const record = toRecord(row);
  if (record.role === "user") return record;
  return { ...record, steps: row.steps == null ? textAlone(row.content) : parseSteps(row.steps) };
}

export const parseSteps = (stored: string) => JSON.parse(stored) as MessageStep[];

const textAlone = (content: string): MessageStep[] =>
  content === "" ? [] : [{ type: "text", length: content.length }];
