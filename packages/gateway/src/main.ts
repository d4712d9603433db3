/** The program: `start` serves; every other command is the client's. Each loads only what it needs. */
const [command, ...rest] = process.argv.slice(2);
if (command === "start") {
  const { serve } = await import("./serve.ts");
  await serve(rest);
} else {
  const { runCli } = await import("./cli/index.ts");
  process.exitCode = await runCli(process.argv.slice(2));
}
