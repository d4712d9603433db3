import { errorOf, isFinal, readTurn, type TurnFrame } from "@agent-gateway/contract";
import { type Connection, explain } from "./connection.ts";
import { UsageError } from "./errors.ts";
import { bodyOf, saveResponse } from "./files.ts";
import { GLOBAL_FLAGS, isOn, last, parseFlags } from "./flags.ts";
import { note, print, printJson } from "./output.ts";
import { readData } from "./request.ts";

export const API_USAGE = "agent-gateway api <METHOD> <path> [--data JSON] [-o FILE]";
const METHODS = new Set(["GET", "POST", "PUT", "PATCH", "DELETE"]);
const FLAGS = new Map([...GLOBAL_FLAGS, ["o", { key: "output" }], ["output", { key: "output" }]]);

export const parseApi = (tokens: readonly string[]) => parseFlags(tokens, FLAGS);

/** `--data` of a request that only reads is its query. */
function withQuery(path: string, data: Record<string, unknown> | undefined): string {
  const [address = "", query] = path.split("?", 2);
  const fields = new URLSearchParams(query);
  for (const [name, value] of Object.entries(data ?? {})) {
    fields.set(name, typeof value === "object" ? JSON.stringify(value) : String(value));
  }
  return fields.size > 0 ? `${address}?${fields}` : address;
}

/** Shows a stream as it arrives; with `--json`, only its last event. */
async function showStream(response: Response, json: boolean): Promise<number> {
  let final: TurnFrame | undefined;
  for await (const frame of readTurn(response)) {
    if (isFinal(frame)) final = frame;
    if (!json) await printJson(frame);
  }
  if (json) await printJson(final ?? null);
  return final?.type === "error" ? 1 : 0;
}

/**
 * Calls any of the gateway's URLs.
 * @returns the exit code
 */
export async function callApi(parsed: ReturnType<typeof parseApi>, connection: Connection): Promise<number> {
  const [word, given, ...more] = parsed.positionals;
  if (word === undefined || given === undefined || more.length > 0) {
    throw new UsageError("api needs a method and a path.", API_USAGE);
  }
  const method = word.toUpperCase();
  if (!METHODS.has(method))
    throw new UsageError(`${word} is not one of ${[...METHODS].join(", ")}.`, API_USAGE);
  const data = readData(parsed);
  const path = given.startsWith("/") ? given : `/${given}`;
  const reads = method === "GET" || method === "DELETE";
  const init: RequestInit = { method };
  if (!reads && data) {
    init.body = JSON.stringify(data);
    init.headers = { "content-type": "application/json" };
  }
  const response = await connection.fetch(reads ? withQuery(path, data) : path, init);
  if (response.status >= 400) throw await explain(await errorOf(response), connection.url, process.env);
  return show(response, isOn(parsed, "json"), last(parsed, "output"));
}

async function show(response: Response, json: boolean, file: string | undefined): Promise<number> {
  const type = response.headers.get("content-type") ?? "";
  if (file !== undefined && file !== "-") {
    const size = await saveResponse(response, file);
    if (json) await printJson({ file, bytes: size });
    else note(`${file}: ${size} bytes`);
    return 0;
  }
  if (type.startsWith("text/event-stream")) return showStream(response, json);
  if (type.startsWith("application/json")) {
    const value: unknown = await response.json();
    await print(`${JSON.stringify(value, null, json ? 0 : 2)}\n`);
  } else if (json) {
    const text = await response.text();
    await printJson(text === "" ? null : text);
  } else {
    for await (const chunk of bodyOf(response)) await print(chunk as Buffer);
  }
  return 0;
}
