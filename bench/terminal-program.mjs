// The program of the terminal benchmark: draws an input row, echoes each key as it comes, and floods on demand.
// `F<megabytes>;` prints that much, and then `FLOOD-END`.
const RULE = "─".repeat(process.stdout.columns || 200);
if (process.argv.includes("--version")) {
  console.log("0.0.0 (benchmark)");
  process.exit(0);
}
process.stdin.setRawMode?.(true);
process.stdout.write(`\u001b[2J\u001b[H${RULE}\r\n❯ \r\n${RULE}\r\n`);
const LINE = `\u001b[32m${"busy terminal ".repeat(9)}\u001b[0m\r\n`;
const BLOCK = LINE.repeat(64);
let asked = "";
process.stdin.setEncoding("utf8");
process.stdin.on("data", async (keys) => {
  for (const key of keys) {
    if (asked === "" && key !== "F") process.stdout.write(key);
    else if (key !== ";") asked += key;
    else {
      const bytes = Number(asked.slice(1)) * 1024 * 1024;
      asked = "";
      for (let sent = 0; sent < bytes; sent += BLOCK.length) {
        if (!process.stdout.write(BLOCK))
          await new Promise((resolve) => process.stdout.once("drain", resolve));
      }
      process.stdout.write("FLOOD-END\r\n");
    }
  }
});
