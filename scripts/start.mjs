// `npm start`: installs and builds what is missing, then runs the gateway in this terminal.
import { join } from "node:path";
import { build, install, productNode, root, run } from "./lib.mjs";

try {
  await install({ dev: false });
  await build();
  const bin = join(root, "packages/gateway/bin/agent-gateway.mjs");
  process.exitCode = await run(productNode(), [bin, "start", ...process.argv.slice(2)]);
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
