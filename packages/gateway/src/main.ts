/** The program: `start` runs the server, every other command the client. Each loads only what it needs. */
import { startThread } from "./lib/thread.ts";

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
