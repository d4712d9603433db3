import type { Config, Env, Paths, Problem } from "../../config/index.ts";

/** Result of one check. */
export interface Check {
  name: string;
  status: "ok" | "warn" | "fail";
  message: string;
  /** What to do about it. */
  fix?: string;
}

/** Input of the checks. */
export interface Patient {
  paths: Paths;
  env: Env;
  /** Null if there is none, or it cannot be used. */
  config: Config | null;
  problems: readonly Problem[];
  /** Whether a gateway answers at the configured address. */
  answers: boolean;
  /** Whether a gateway runs on this home directory, wherever it listens. */
  running: boolean;
}

export const ok = (name: string, message: string): Check => ({ name, status: "ok", message });
export const warn = (name: string, message: string, fix: string): Check => ({
  name,
  status: "warn",
  message,
  fix,
});
export const fail = (name: string, message: string, fix: string): Check => ({
  name,
  status: "fail",
  message,
  fix,
});
