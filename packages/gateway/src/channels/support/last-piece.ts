/** Where Node.js keeps the dispatcher of its `fetch`, once that is loaded. */
const DISPATCHER = Symbol.for("undici.globalDispatcher.2");

/** What of a dispatcher is used here. */
interface Dispatcher {
  dispatch(options: { body?: unknown }, handler: unknown): boolean;
}

const isDispatcher = (value: unknown): value is Dispatcher =>
  typeof value === "object" && value !== null && "dispatch" in value && typeof value.dispatch === "function";

const isAsyncIterable = (value: unknown): value is AsyncIterable<Uint8Array> =>
  typeof value === "object" && value !== null && Symbol.asyncIterator in value;

/** The same pieces, with `begin` called before the last of them is handed out; if that throws, it is not. */
async function* withBeginning(pieces: AsyncIterable<Uint8Array>, begin: () => void) {
  let held: Uint8Array | undefined;
  for await (const piece of pieces) {
    if (held) yield held;
    held = piece;
  }
  begin();
  if (held) yield held;
}

/**
 * `fetch`, with `begin` called as late as possible: once the connection is open and only the last piece of the body has
 * not been written. A server does not act on an incomplete request, so until then nothing has been sent. Requests
 * whose body is not read piece by piece begin before they are made. When `begin` throws, the request is not completed.
 */
export async function fetchBeginning(
  url: Parameters<typeof fetch>[0],
  init: RequestInit,
  begin: () => void,
): Promise<Response> {
  const inner: unknown = Reflect.get(globalThis, DISPATCHER);
  if (!isDispatcher(inner)) {
    begin();
    return fetch(url, init);
  }
  const dispatcher: Dispatcher = {
    dispatch(options, handler) {
      const { body } = options;
      if (isAsyncIterable(body)) {
        return inner.dispatch({ ...options, body: withBeginning(body, begin) }, handler);
      }
      begin();
      return inner.dispatch(options, handler);
    },
  };
  return fetch(url, { ...init, dispatcher } as RequestInit);
}
