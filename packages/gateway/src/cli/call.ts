import type { RouteName } from "@agent-gateway/contract";
import { resolveChat } from "./chat-name.ts";
import type { Connection } from "./connection.ts";
import { UsageError } from "./errors.ts";
import type { CliRoute } from "./fields.ts";
import { bodyOf, saveResponse, streamBody, uploadBody } from "./files.ts";
import { isOn, last, type Parsed } from "./flags.ts";
import { createProgress, note, print, printJson, showReply } from "./output.ts";
import { buildRequest, type RouteInput } from "./request.ts";
import { fillSecrets } from "./secrets.ts";
import { runTurn } from "./turn.ts";

/** NDJSON as one JSON array, line by line. */
async function printLines(response: Response): Promise<void> {
  const { createInterface } = await import("node:readline");
  let count = 0;
  await print("[");
  for await (const line of createInterface({
    input: bodyOf(response),
    crlfDelay: Number.POSITIVE_INFINITY,
  })) {
    if (line.trim() === "") continue;
    await print(count++ === 0 ? line : `,${line}`);
  }
  await print("]\n");
}

/** A reply other than JSON: to a file, to stdout unchanged, or wrapped for `--json`. */
async function showRaw(response: Response, route: CliRoute, parsed: Parsed): Promise<void> {
  const file = last(parsed, "output");
  const json = isOn(parsed, "json");
  if (file !== undefined && file !== "-") {
    const size = await saveResponse(response, file);
    return json ? printJson({ file, bytes: size }) : note(`${file}: ${size} bytes`);
  }
  if (json && route.rawReply === "ndjson") return printLines(response);
  if (json && route.rawReply === "text") return printJson({ text: await response.text() });
  if (json) {
    const content = Buffer.from(await response.arrayBuffer());
    const contentType = response.headers.get("content-type");
    return printJson({ contentType, bytes: content.length, base64: content.toString("base64") });
  }
  if (route.rawReply === "binary" && process.stdout.isTTY) {
    await response.body?.cancel();
    throw new UsageError("The terminal cannot show this; save it with -o FILE.");
  }
  for await (const chunk of bodyOf(response)) await print(chunk as Buffer);
}

/** Sends a file, or for `-` stdin, as the request's body. */
async function sendFile(
  connection: Connection,
  route: CliRoute,
  input: RouteInput,
  file: string,
): Promise<Response> {
  const progress = createProgress();
  const body = route.rawBody === "binary" ? await uploadBody(file) : await streamBody(file, progress);
  try {
    return await connection.call(route.name as RouteName, {
      params: input.params,
      query: input.query,
      ...body,
    });
  } finally {
    progress.done();
  }
}

/** Shows that a long call is in progress; does nothing without a terminal. */
async function waiting<T>(work: Promise<T>): Promise<T> {
  const progress = createProgress();
  const since = Date.now();
  const timer = setInterval(
    () => progress.update(`waiting … ${Math.round((Date.now() - since) / 1000)} s`),
    1000,
  );
  return work.finally(() => {
    clearInterval(timer);
    progress.done();
  });
}

/**
 * Runs the command of a route.
 * @returns the exit code
 * @throws UsageError, Interrupted, or the gateway's error
 */
export async function callRoute(route: CliRoute, parsed: Parsed, connection: Connection): Promise<number> {
  const { input, left } = buildRequest(route, parsed);
  const json = isOn(parsed, "json");
  const file = route.rawBody ? left.shift() : undefined;
  if (route.rawBody && file === undefined) throw new UsageError("Missing: file.");
  if (left.length > 0) throw new UsageError(`Unexpected argument: ${left[0]}.`);
  await fillSecrets(input, parsed);
  await resolveChat(route, input, connection);

  const name = route.name as RouteName;
  const always = route.rawReply === "sse" && route.responses[200] === null;
  if (always || (route.rawReply === "sse" && input.body?.stream === true)) {
    return runTurn({ connection, route: name, input, json });
  }
  const response = await (file === undefined
    ? waiting(connection.call(name, input))
    : sendFile(connection, route, input, file));
  if (route.rawReply && route.rawReply !== "sse") {
    await showRaw(response, route, parsed);
    return 0;
  }
  const text = await response.text();
  await showReply(text === "" ? null : JSON.parse(text), json);
  return 0;
}
