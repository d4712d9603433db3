import { flushCompileCache } from "node:module";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Worker } from "node:worker_threads";
import { createApp } from "./app.ts";
import {
  auditPermissions,
  ConfigFileError,
  createConfigStore,
  createPaths,
  type FirstRun,
  firstRun,
  restrictHome,
  startupWarnings,
} from "./config/index.ts";
import { sleep, systemClock } from "./lib/clock.ts";
import { endNow } from "./lib/end-now.ts";
import { HomeInUseError, type HomeLock, lockHome } from "./lib/home-lock.ts";
import { collectWhenIdle } from "./lib/idle-collect.ts";
import { createLogger } from "./lib/log.ts";
import { runPhases } from "./lib/phases.ts";
import { diskProblem, StartError, startWith } from "./lib/start-error.ts";
import { startWatchdog, type Watchdog } from "./lib/watchdog.ts";
import { STOP_DEADLINE_MS } from "./lib/watchdog-thread.ts";

/** `EX_CONFIG` of sysexits.h: the configuration is unusable. */
const EXIT_CONFIG = 78;
/** `EX_SOFTWARE`: the gateway cannot continue; a supervisor restarts it. */
const EXIT_BROKEN = 70;
/** `EX_TEMPFAIL`: the gateway was updated, and wants a new start. */
const EXIT_RESTART = 75;
/** How long log lines and the lock have after the shutdown phases. */
const LAST_MS = 200;
/** How long after the start compiled code is stored for the next one; it costs this thread some 20 ms, once per version. */
const STORE_CODE_AFTER_MS = 2_000;
const DEFAULT_LOGS = { level: "info", maxFileBytes: 16_777_216, maxFiles: 3, retentionDays: 14 } as const;

class UsageError extends Error {}

function readArguments(args: readonly string[]): { config?: string | undefined; port?: string | undefined } {
  try {
    const options = { config: { type: "string" }, port: { type: "string" } } as const;
    const { values } = parseArgs({ args: [...args], options });
    if (values.port !== undefined && (!/^\d{1,5}$/.test(values.port) || Number(values.port) > 65_535))
      throw new UsageError("--port takes a number from 0 to 65535.");
    return values;
  } catch (error) {
    throw new UsageError(
      `${(error as Error).message}\nUsage: agent-gateway start [--config FILE] [--port N]`,
    );
  }
}

/**
 * Runs the gateway until SIGTERM or SIGINT; `writer` is the thread that writes to an SQLite database, if it was started
 * early. Sets the process's exit code.
 */
export async function serve(args: readonly string[], writer?: Worker): Promise<void> {
  const clock = systemClock;
  let shutdown = (): Promise<void> => Promise.resolve();
  let watchdog: Watchdog | undefined;
  let lock: HomeLock | undefined;
  let stopping = false;
  let exitCode = 0;
  const logs = { flush: () => Promise.resolve() };

  const stop = async (code: number) => {
    if (stopping) return;
    stopping = true;
    // Two clocks: the watchdog's keeps running while this thread is blocked.
    watchdog?.deadline(STOP_DEADLINE_MS, code);
    setTimeout(() => endNow(code), STOP_DEADLINE_MS);
    await shutdown();
    // `_exit` skips what Node.js would do here.
    flushCompileCache();
    const last = Promise.allSettled([logs.flush(), lock?.release()]);
    await Promise.race([last, sleep(clock, LAST_MS)]);
    endNow(code);
  };
  process.on("SIGTERM", () => void stop(exitCode));
  process.on("SIGINT", () => void stop(0));

  try {
    // The gateway's files are private, whatever umask it was started with.
    process.umask(0o077);
    const { config: file, port } = readArguments(args);
    const env = { ...process.env, ...(file && { GATEWAY_CONFIG: file }), ...(port && { PORT: port }) };
    const paths = createPaths(env);
    const unusable = (reason: string) =>
      `The gateway's home (${paths.home}) cannot be used: ${reason}. Repair it, or set GATEWAY_HOME to another folder.`;
    lock = await startWith(EXIT_CONFIG, unusable, () => lockHome(paths.home, clock));
    const first = await startWith(EXIT_CONFIG, unusable, () => firstRun(paths, env));
    const logger = createLogger({ dir: paths.logs, clock, config: DEFAULT_LOGS, stdout: process.stdout });
    const { log } = logger;
    logs.flush = logger.close;
    const onSecrets = (values: Iterable<string>) => {
      for (const value of values) logger.addSecret(value);
    };
    const store = await createConfigStore({ paths, env, clock, log, onSecrets });
    logger.configure(store.current.gateway.logs);
    store.onChange((next) => logger.configure(next.gateway.logs));
    const { gateway } = store.current;
    const audit = await auditPermissions(paths, gateway.bind);
    if (audit.refusal) throw new ConfigFileError(audit.refusal);
    await restrictHome(paths);
    for (const warning of [...audit.warnings, ...startupWarnings(gateway)]) log.warn({}, warning);
    process.on("unhandledRejection", (error) => log.error({ err: error }, "unhandled rejection"));
    process.on("uncaughtException", (error) => {
      log.error({ err: error }, "uncaught exception; stopping the gateway");
      void stop(EXIT_BROKEN);
    });

    const app = await createApp({
      store,
      paths,
      env,
      clock,
      log,
      writer,
      homeId: lock.identity,
      onSecret: logger.addSecret,
      mask: logger.mask,
      restart() {
        exitCode = EXIT_RESTART;
        process.kill(process.pid, "SIGTERM");
      },
      fatal: () => void stop(EXIT_BROKEN),
    });
    shutdown = () => runPhases(app.shutdown(), clock, log);
    const address = await app.listen(gateway.bind, gateway.port);
    const host = address.host.includes(":") ? `[${address.host}]` : address.host;
    const url = `http://${host}:${address.port}`;
    console.log(`gateway listening on ${url}`);
    const reach = url.replace(/\/\/(0\.0\.0\.0|\[::\])/, "//127.0.0.1");
    if (first) console.log(welcome(reach, first, join(paths.home, ".env")));
    app.afterStart();
    const logFile = join(paths.logs, "gateway.log");
    watchdog = startWatchdog({ ...store.current.gateway.watchdog, logFile, log });
    store.onChange((next) => watchdog?.configure(next.gateway.watchdog.exitSeconds));
    collectWhenIdle();
    setTimeout(flushCompileCache, STORE_CODE_AFTER_MS).unref();
  } catch (error) {
    // Told to stop while it started: what that broke is no failure.
    if (stopping) return;
    const known = [ConfigFileError, UsageError, HomeInUseError, StartError];
    const refused = known.some((kind) => error instanceof kind);
    const { code, message, path, address, port } = error as NodeJS.ErrnoException & {
      address?: string;
      port?: number;
    };
    console.error(
      code === "EADDRINUSE"
        ? `Port ${port} on ${address} is in use; choose another with --port, PORT or gateway.port.`
        : !refused && diskProblem(error) && path
          ? `The gateway could not start because ${path} cannot be used: ${diskProblem(error)}.`
          : message,
    );
    if (!refused && code === undefined)
      console.error("See logs/gateway.log in the gateway's home for details.");
    await logs.flush();
    await lock?.release();
    if (error instanceof StartError) process.exit(error.exitCode);
    process.exit(error instanceof ConfigFileError ? EXIT_CONFIG : error instanceof UsageError ? 2 : 1);
  }
}

/** What a first start prints: the page's address, the key (once), and a command that works when pasted. */
function welcome(url: string, first: FirstRun, envFile: string): string {
  const where = first.fromEnvironment ? "from GATEWAY_ADMIN_KEY" : `kept in ${envFile}, shown only now`;
  return `
  Dashboard   ${url}/dashboard
  Admin key   ${first.fromEnvironment ? "(from GATEWAY_ADMIN_KEY)" : first.adminKey}   (${where})

  Try it:
  curl -s ${url}/api/v1/agents/assistant/messages -H "X-Api-Key: ${first.fromEnvironment ? "$GATEWAY_ADMIN_KEY" : first.adminKey}" -H 'Content-Type: application/json' -d '{"message": "Hello!", "chat_id": "me"}'
`;
}
