import { type Env, type Paths, storeSettings } from "../config/index.ts";
import type { CopyPlace } from "../store/index.ts";
import { CliError, UsageError } from "./errors.ts";
import { last, type Parsed } from "./flags.ts";

const DEFAULT_SCHEMA = "agent_gateway";

/**
 * Where the store is that a start with this home would use.
 * @throws CliError if the configuration does not say
 */
export async function configuredPlace(paths: Paths, env: Env): Promise<CopyPlace> {
  const settings = await storeSettings(paths, env);
  if (!settings) {
    throw new CliError(
      "Which store the gateway uses cannot be read: gateway.store or GATEWAY_STORE_URL has an error. `agent-gateway config check` shows it.",
    );
  }
  const { driver, url, ...rest } = settings;
  return driver === "postgres" && url !== undefined
    ? { driver, url, ...rest, poolSize: 1 }
    : { driver: "sqlite", file: paths.database };
}

/**
 * The place that an option names: `sqlite`, or the address of a Postgres with `--schema`; undefined without the option.
 * @throws UsageError for anything else
 */
export function namedPlace(name: "from" | "to", parsed: Parsed, paths: Paths): CopyPlace | undefined {
  const value = last(parsed, name);
  if (value === undefined) return undefined;
  if (value === "sqlite") return { driver: "sqlite", file: paths.database };
  if (!/^postgres(?:ql)?:\/\//.test(value) || !URL.canParse(value)) {
    throw new UsageError(`--${name} needs \`sqlite\` or a postgres:// address.`);
  }
  const schema = last(parsed, "schema") ?? DEFAULT_SCHEMA;
  if (!/^(?!pg_)[a-z_][a-z0-9_]{0,62}$/.test(schema)) {
    throw new UsageError(
      "--schema must be a-z 0-9 _, at most 63 characters, and not begin with pg_ or a digit.",
    );
  }
  return { driver: "postgres", url: value, schema, poolSize: 1, ssl: "prefer" };
}
