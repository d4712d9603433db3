import type { CallReply, RouteName } from "@agent-gateway/contract";
import type { Connection } from "./connection.ts";
import type { RouteInput } from "./request.ts";

/** Calls a route for its JSON. */
export async function askFor<N extends RouteName>(
  connection: Connection,
  name: N,
  input: Partial<RouteInput> = {},
): Promise<CallReply<N>> {
  return (await connection.call(name, input)).json() as Promise<CallReply<N>>;
}

/** `3 min ago`: a past time in its largest unit; empty for none. */
export function ago(at: number | null | undefined, now: number = Date.now()): string {
  if (at === null || at === undefined) return "";
  const seconds = Math.max(0, Math.round((now - at) / 1000));
  if (seconds < 90) return `${seconds} s ago`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 90) return `${minutes} min ago`;
  const hours = Math.round(minutes / 60);
  return hours < 48 ? `${hours} h ago` : `${Math.round(hours / 24)} d ago`;
}
