/** The program: `start` runs the server, every other command the client. Each loads only what it needs. */
const [command, ...rest] = process.argv.slice(2);
if (command === "start") {
  const { serve } = await import("./serve.ts");
  await serve(rest);
} else {
  const { runCli } = await import("./cli/index.ts");
  process.exitCode = await runCli(process.argv.slice(2));
}
