const PAUSE_MS = 4_000;
const MAX_FRAMES = 30;

interface CallFrame {
  functionName: string;
  location: { scriptId: string; lineNumber: number; columnNumber: number };
}

/**
 * The call stack of the main thread, asked from a worker by way of the inspector; undefined when the thread is not in
 * JavaScript, such as in a call of the operating system that does not return.
 */
export async function mainThreadStack(): Promise<string[] | undefined> {
  const { Session } = process.getBuiltinModule("node:inspector");
  const session = new Session();
  try {
    session.connectToMainThread();
    const { promise, resolve } = Promise.withResolvers<CallFrame[] | undefined>();
    session.on("Debugger.paused", ({ params }) => resolve(params.callFrames as CallFrame[]));
    // Frames name their scripts by id; the addresses come with the scripts.
    const scripts = new Map<string, string>();
    session.on("Debugger.scriptParsed", ({ params }) => scripts.set(params.scriptId, params.url));
    session.post("Debugger.enable");
    session.post("Debugger.pause");
    const timer = setTimeout(() => resolve(undefined), PAUSE_MS);
    const frames = await promise;
    clearTimeout(timer);
    return frames?.slice(0, MAX_FRAMES).map(({ functionName, location }) => {
      const at = `${scripts.get(location.scriptId) ?? ""}:${location.lineNumber + 1}:${location.columnNumber + 1}`;
      return `${functionName || "(anonymous)"} (${at})`;
    });
  } catch {
    return undefined;
  } finally {
    // Lets a paused thread go on.
    session.disconnect();
  }
}
