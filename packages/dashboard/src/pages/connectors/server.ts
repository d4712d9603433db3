import { GatewayError } from "@agent-gateway/contract";
import type { Connector } from "../../api/types.ts";
import { typed } from "../../components/SaveForm.tsx";

/** What a server is, as the form offers it. */
export type Kind = "keep" | "stdio" | "http" | "sse";
/** How a server at an address lets the gateway in. */
export type Access = "open" | "token" | "sign-in";

const linesOf = (fields: FormData, name: string): string[] =>
  typed(fields, name)
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");

/** Lines of a name and a value with `sign` between them. */
function pairsOf(fields: FormData, name: string, sign: string): Record<string, string> {
  const pairs = linesOf(fields, name).map((line) => {
    const at = line.indexOf(sign);
    if (at < 1) {
      throw new GatewayError(
        "INVALID_REQUEST",
        `Write a name, then ${sign} and a value, on each line: ${line}`,
      );
    }
    return [line.slice(0, at).trim(), line.slice(at + 1).trim()] as const;
  });
  return Object.fromEntries(pairs);
}

/** The configuration of a server, as it was typed; undefined where it stays as it is. */
export function configOf(fields: FormData, kind: Kind, access: Access): Record<string, unknown> | undefined {
  if (kind === "keep") return undefined;
  if (kind === "stdio") {
    const env = pairsOf(fields, "env", "=");
    return { type: kind, command: typed(fields, "command"), args: linesOf(fields, "args"), env };
  }
  const authorization = {
    open: {},
    token: { Authorization: "Bearer {token}" },
    "sign-in": { Authorization: "Bearer {access_token}" },
  }[access];
  const headers = { ...authorization, ...pairsOf(fields, "headers", ":") };
  return { type: kind, url: typed(fields, "url"), headers };
}

/** How the server of a connector lets the gateway in, where its owner leaves no choice. */
export const accessOf = (owner: Connector["credentialOwner"] | undefined): Access | undefined =>
  owner === "gateway" || owner === "external" ? "sign-in" : undefined;
