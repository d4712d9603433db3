// The bare limit of the terminal benchmark: the same program in a pseudo-terminal, each piece of its output sent to
// every socket. Keys of any socket go to the program.
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { WebSocketServer } from "ws";

// It belongs to the gateway.
const { spawn } = createRequire(new URL("../packages/gateway/package.json", import.meta.url))(
  "@lydell/node-pty",
);
const program = fileURLToPath(new URL("./terminal-program.mjs", import.meta.url));
const pty = spawn(process.execPath, [program], { cols: 200, rows: 50, encoding: null });
const server = new WebSocketServer({ port: 0, host: "127.0.0.1", perMessageDeflate: false });
pty.onData((bytes) => {
  for (const client of server.clients) client.send(bytes);
});
server.on("connection", (client) => client.on("message", (keys) => pty.write(String(keys))));
server.on("listening", () => console.log(`listening on ${server.address().port}`));
process.on("disconnect", () => process.exit());
