// A Postgres server of the benchmark's own, in a temporary folder.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";

const ROOT = "/usr/lib/postgresql";
/** A quarter of a machine of 4 GB, as its documentation advises; everything else stays as it is by default. */
const SHARED_BUFFERS = "1GB";

/** Postgres refuses to run as root. */
const asNobody =
  process.getuid?.() === 0 ? ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] : [];

async function freePort() {
  const server = net.createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  return port;
}

/** Starts it; undefined where Postgres is not installed. */
export async function startPostgres() {
  const versions = existsSync(ROOT) ? readdirSync(ROOT).sort((a, b) => Number(b) - Number(a)) : [];
  const bin = versions
    .map((version) => join(ROOT, version, "bin"))
    .find((folder) => existsSync(join(folder, "initdb")));
  if (!bin) return undefined;
  const folder = mkdtempSync(join(tmpdir(), "agent-gateway-bench-postgres-"));
  if (asNobody.length > 0) {
    const id = (flag) => Number(spawnSync("id", [flag, "nobody"], { encoding: "utf8" }).stdout);
    chownSync(folder, id("-u"), id("-g"));
  }
  const run = (program, ...args) => [...asNobody, join(bin, program), ...args];
  const data = join(folder, "data");
  const [first, ...rest] = run(
    "initdb",
    "-D",
    data,
    "-U",
    "postgres",
    "-A",
    "trust",
    "-E",
    "UTF8",
    "--locale=C.UTF-8",
  );
  const made = spawnSync(first, rest, { cwd: folder, encoding: "utf8" });
  if (made.status !== 0) throw new Error(made.stderr);
  const port = await freePort();
  const settings = [`port=${port}`, "listen_addresses=127.0.0.1", `unix_socket_directories=${folder}`];
  const options = [...settings, `shared_buffers=${SHARED_BUFFERS}`].flatMap((setting) => ["-c", setting]);
  const [program, ...args] = run("postgres", "-D", data, ...options);
  const server = spawn(program, args, { stdio: "ignore" });
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  for (let tries = 0; ; tries++) {
    try {
      const client = new pg.Client(url);
      await client.connect();
      await client.end();
      break;
    } catch (error) {
      if (tries === 300) throw error;
      await sleep(100);
    }
  }
  return {
    url,
    async stop() {
      server.kill("SIGINT");
      if (server.exitCode === null) await once(server, "exit");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
