/**
 * A tool server for agent programs that start their own: relays the Model Context Protocol between its stdin and
 * stdout and the gateway, which provides the tools. Needs nothing but Node.js.
 */
import { connect } from "node:net";

const { AGENT_GATEWAY_TOOLS_SOCKET: path, AGENT_GATEWAY_TOOLS_TOKEN: token } = process.env;
if (!path || !token) {
  process.stderr.write("This program is meant to be started by an agent that the gateway runs.\n");
  process.exit(2);
}

const socket = connect(path);
socket.on("error", () => process.exit(1));
socket.on("close", () => process.exit(0));
socket.write(`${token}\n`);
process.stdin.pipe(socket).pipe(process.stdout);
