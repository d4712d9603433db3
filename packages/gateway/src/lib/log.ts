import type { DestinationStream, Logger as Pino } from "pino";
import type { Clock } from "./clock.ts";
import { createLogFile, type LogFile, sweepLogs } from "./log-file.ts";
import { createSecretMask, redactFields } from "./log-redact.ts";
import type { Logger } from "./logger.ts";

const RANK = { debug: 20, info: 30, warn: 40, error: 50 } as const;
type Level = keyof typeof RANK;
const DAY_MS = 86_400_000;

/** See `gateway.logs` in the configuration. */
export interface LogSettings {
  level: Level;
  maxFileBytes: number;
  maxFiles: number;
  retentionDays: number;
}

/** A stream like `process.stdout`. */
interface Output {
  write(text: string): unknown;
  on?(event: "error", listener: () => void): unknown;
}

export interface LogOptions {
  /** Folder of the log files; created when needed. */
  dir: string;
  clock: Clock;
  config: LogSettings;
  /** Gets the lines in a short form; null to log to files only. */
  stdout: Output | null;
}

export interface Log {
  /** Writes to `gateway.log` and stdout. */
  log: Logger;
  /** A log of its own, `<name>.log`, not on stdout. */
  stream(name: string): Logger;
  /** Applies new settings at once. */
  configure(settings: LogSettings): void;
  /** Masks a value wherever it would be written from now on. */
  addSecret(value: string): void;
  /** Masks such values in a text that goes elsewhere. */
  mask(text: string): string;
  /** Resolves when everything logged so far is on disk. */
  flush(): Promise<void>;
  /** Writes the rest and stops. */
  close(): Promise<void>;
}

/** `12:00:00 warn message key=value`: for people. Values are JSON, so no text can fake another line. */
function shortLine(json: string): string {
  let line: Record<string, unknown>;
  try {
    line = JSON.parse(json);
  } catch {
    // A masked value may have been part of the JSON itself.
    return json;
  }
  const { level, time, msg, ...fields } = line;
  const extra = Object.entries(fields).map(([name, value]) => {
    const shown = (value as { message?: unknown } | null)?.message ?? value;
    return ` ${name}=${typeof shown === "string" && /^[^\s"]+$/.test(shown) ? shown : JSON.stringify(shown)}`;
  });
  const text = String(msg).replace(/\p{Cc}+/gu, " ");
  return `${new Date(Number(time)).toISOString().slice(11, 19)} ${level} ${text}${extra.join("")}\n`;
}

/** Logs as JSON lines to files, written in the background, and as short lines to stdout. */
export function createLogger(options: LogOptions): Log {
  const { dir, clock } = options;
  let { stdout } = options;
  // The reader of stdout may be gone; without a listener that would end the gateway.
  stdout?.on?.("error", () => {
    stdout = null;
  });
  let settings = options.config;
  let rank: number = RANK[settings.level];
  const secrets = createSecretMask();
  const files = new Map<string, LogFile>();
  const waiting = new Set<Promise<void>>();

  function fileOf(name: string): LogFile {
    const file = files.get(name) ?? createLogFile(dir, name, () => settings, clock);
    files.set(name, file);
    return file;
  }

  async function root(name: string, echoed: boolean): Promise<Pino> {
    const file = fileOf(name);
    const destination: DestinationStream = {
      write(line) {
        const masked = secrets.mask(line);
        file.write(masked);
        if (echoed) stdout?.write(shortLine(masked));
      },
    };
    const { pino } = await import("pino");
    return pino(
      {
        base: null,
        level: "debug",
        timestamp: () => `,"time":${clock.now()}`,
        formatters: { level: (label) => ({ level: label }), log: redactFields },
      },
      destination,
    );
  }

  /** The library costs a tenth of the start, so the first line loads it; those meanwhile wait for it, in order. */
  function lazy(make: () => Promise<Pino>) {
    let loading: Promise<Pino> | undefined;
    let loaded: Pino | undefined;
    return (use: (sink: Pino) => void) => {
      if (loaded) return use(loaded);
      loading ??= make().then((sink) => {
        loaded = sink;
        return sink;
      });
      const used = loading.then(use);
      waiting.add(used);
      void used.finally(() => waiting.delete(used));
    };
  }

  // The level is checked here because a child of pino keeps the level that it was born with.
  function wrap(withSink: ReturnType<typeof lazy>): Logger {
    const at = (level: Level) => (fields: Record<string, unknown>, message: string) => {
      if (RANK[level] >= rank) withSink((sink) => sink[level](fields, message));
    };
    return {
      debug: at("debug"),
      info: at("info"),
      warn: at("warn"),
      error: at("error"),
      child(fields) {
        const bindings = redactFields(fields);
        let child: Pino | undefined;
        return wrap((use) =>
          withSink((sink) => {
            child ??= sink.child(bindings) as Pino;
            use(child);
          }),
        );
      },
    };
  }

  const sweep = () => void sweepLogs(dir, settings.retentionDays, clock.now());
  sweep();
  const stopSweeping = clock.every(DAY_MS, sweep);
  const atExit = () => {
    for (const file of files.values()) file.flushSync();
  };
  process.on("exit", atExit);

  const flush = async () => {
    await Promise.all(waiting);
    await Promise.all([...files.values()].map((file) => file.flush()));
  };
  return {
    log: wrap(lazy(() => root("gateway", true))),
    stream(name) {
      if (!/^[a-z0-9][a-z0-9_-]{0,63}$/.test(name) || name === "gateway") {
        throw new TypeError("not the name of a further log");
      }
      return wrap(lazy(() => root(name, false)));
    },
    configure(next) {
      const kept = settings.retentionDays;
      settings = next;
      rank = RANK[next.level];
      if (next.retentionDays !== kept) sweep();
    },
    addSecret: secrets.add,
    mask: secrets.mask,
    flush,
    async close() {
      stopSweeping();
      await flush();
      process.off("exit", atExit);
    },
  };
}
