import { GatewayError } from "@agent-gateway/contract";
import { type Changes, changeDotenv, readDotenv, type Variables } from "../config/index.ts";

/** The file with the secrets of connectors. */
export interface TokenFile {
  /** Its variables as they are now; none if it cannot be read. */
  read(): Promise<Variables>;
  /**
   * Changes variables under the file's lock; `null` removes one. `change` gets the variables as they are then, and
   * writes nothing by returning nothing. Must not wait.
   * @throws {GatewayError} `INTERNAL` if the file cannot be written.
   */
  edit(change: (now: Variables) => Changes | undefined): Promise<void>;
}

export function createTokenFile(path: string): TokenFile {
  return {
    read: () => readDotenv(path),
    async edit(change) {
      try {
        await changeDotenv(path, change);
      } catch (cause) {
        if (cause instanceof GatewayError) throw cause;
        throw new GatewayError("INTERNAL", "Could not write the file with the secrets of connectors.", {
          cause,
        });
      }
    },
  };
}

/** The variable that holds a secret. */
export const secretKey = (id: string, placeholder: string): string => `CUSTOM__${id}__${placeholder}`;

/** The variables of a connector: its secrets, and the gateway's own book-keeping. */
export const variablesOf = (id: string, file: Variables): string[] =>
  Object.keys(file).filter(
    (name) => name.startsWith(secretKey(id, "")) || name.startsWith(`CUSTOMINT__${id}__`),
  );

/** Changes that remove these variables. */
export const without = (names: readonly string[]): Changes =>
  Object.fromEntries(names.map((name) => [name, null]));
