/** Commands that need neither the routes nor a connection. */
const WORDS_FOR_VERSION = new Set(["--version", "-V", "version"]);

/**
 * Runs one command of the command line other than `start`.
 * @param argv arguments after the program's name
 * @returns the exit code: 0 done, 1 failed, 2 wrong usage, 130 after Ctrl-C
 */
export async function runCli(argv: readonly string[]): Promise<number> {
  // The reader of the output, such as `head`, may exit early.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 0 : 1));
  if (argv.length === 1 && WORDS_FOR_VERSION.has(argv[0]!)) {
    const { VERSION } = await import("../version.ts");
    process.stdout.write(`${VERSION}\n`);
    return 0;
  }
  const { runCommand } = await import("./commands.ts");
  const { describeFailure, Interrupted, UsageError } = await import("./errors.ts");
  try {
    return await runCommand(argv);
  } catch (error) {
    if (error instanceof Interrupted) return 130;
    if (error instanceof UsageError) {
      process.stderr.write(`${error.message}\n${error.usage ? `Usage: ${error.usage}\n` : ""}`);
      return 2;
    }
    const { printable } = await import("./output.ts");
    process.stderr.write(`${printable(describeFailure(error), process.stderr)}\n`);
    return 1;
  }
}
