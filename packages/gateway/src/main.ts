/** The program: `start` runs the server, every other command the client. Each loads only what it needs. */
import { startThread } from "./lib/thread.ts";

// The clock's timers keep no process alive, and a wait for the store may be all that goes on for half a minute.
const working = setInterval(() => {}, 60_000);
const [command, ...rest] = process.argv.slice(2);
if (command === "start") {
  // It starts while this thread loads the rest. Only SQLite needs it.
  const writer = process.env.GATEWAY_STORE_URL ? undefined : startThread("writer");
  const { serve } = await import("./serve.ts");
  await serve(rest, writer);
} else {
  const { runCli } = await import("./cli/index.ts");
  process.exitCode = await runCli(process.argv.slice(2));
}
clearInterval(working);
