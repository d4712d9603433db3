/**
 * Runs one command of the command line other than `start`.
 * @param argv arguments after the program's name
 * @returns the exit code: 0 done, 1 failed, 2 wrong usage
 */
export async function runCli(argv: readonly string[]): Promise<number> {
  if (argv[0] === "--version" || argv[0] === "-V") {
    const { VERSION } = await import("../version.ts");
    console.log(VERSION);
    return 0;
  }
  console.error("Usage: agent-gateway <command>");
  return 2;
}
