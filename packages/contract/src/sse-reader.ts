/** One event of a stream. */
export interface SseEvent {
  /** The last `id` so far. */
  id: string | undefined;
  data: string;
}

/**
 * Reads server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream)
 * as their bytes arrive, split anywhere; a line may be of any length. Leaving the loop cancels the stream.
 * @param onId gets an `id` that comes without an event: what the stream has passed over
 */
export async function* readSse(
  stream: ReadableStream<Uint8Array>,
  onId: (id: string) => void = () => {},
): AsyncGenerator<SseEvent> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  const lines = createLineSplitter();
  let id: string | undefined;
  let data: string[] = [];
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      for (const line of lines(decoder.decode(value, { stream: true }))) {
        if (line === "") {
          if (data.length === 0 && id !== undefined) onId(id);
          if (data.length > 0) yield { id, data: data.join("\n") };
          data = [];
          continue;
        }
        const colon = line.indexOf(":");
        const field = colon < 0 ? line : line.slice(0, colon);
        const rest = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
        if (field === "data") data.push(rest);
        else if (field === "id") id = rest;
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/** Lines end with LF, CR or CRLF. Pieces of an unfinished line are kept apart: joining them each time would be quadratic. */
function createLineSplitter(): (text: string) => string[] {
  let pieces: string[] = [];
  let afterReturn = false;
  return (text) => {
    const lines: string[] = [];
    let from = afterReturn && text[0] === "\n" ? 1 : 0;
    if (text !== "") afterReturn = text.endsWith("\r");
    const ends = /\r\n|\n|\r/g;
    ends.lastIndex = from;
    for (let end = ends.exec(text); end; end = ends.exec(text)) {
      pieces.push(text.slice(from, end.index));
      lines.push(pieces.join(""));
      pieces = [];
      from = ends.lastIndex;
    }
    if (from < text.length) pieces.push(text.slice(from));
    return lines;
  };
}
