import * as z from "zod";
import type { McpServer } from "../runtimes/index.ts";

/** A placeholder for a secret, `{token}`. */
const PLACEHOLDER = /\{([A-Za-z][A-Za-z0-9_]{0,63})\}/g;

const strings = z.record(z.string(), z.string());
const program = z.object({
  type: z.literal("stdio").optional(),
  command: z.string().min(1),
  args: z.array(z.string()).default([]),
  env: strings.default({}),
  url: z.undefined().optional(),
});
const address = z.object({
  type: z.enum(["http", "streamable-http", "sse"]).default("http"),
  url: z.string().min(1),
  headers: strings.default({}),
  command: z.undefined().optional(),
});

/** A connector's MCP server, as configured. */
export interface Entry {
  /** Names of the secrets that it needs. */
  placeholders: ReadonlySet<string>;
  /** The server with these secrets in place, each as it is; undefined when its address is none then. */
  fill(secrets: ReadonlyMap<string, string>): McpServer | undefined;
}

/** @returns the entry, or what is wrong with it, as half a sentence without any of its values. */
export function readEntry(config: Readonly<Record<string, unknown>> | undefined): Entry | string {
  if (config === undefined) return "has no config";
  const stdio = program.safeParse(config);
  if (stdio.success) {
    const { command, args, env } = stdio.data;
    if ([command, ...args].some((text) => text.search(PLACEHOLDER) >= 0)) {
      return "has a placeholder in its command or args, which every user of this machine can see; use env";
    }
    return entry([env], ([filled]) => ({ command, args, env: filled! }));
  }
  const remote = address.safeParse(config);
  if (!remote.success) return "needs either a command (type stdio) or a url (type http or sse) in its config";
  const { type, url, headers } = remote.data;
  return entry([{ url }, headers], ([place, filled]) =>
    isHttp(place!.url!)
      ? { type: type === "sse" ? "sse" : "http", url: place!.url!, headers: filled! }
      : undefined,
  );
}

type Texts = Readonly<Record<string, string>>;

function entry(
  texts: readonly Texts[],
  make: (filled: readonly Record<string, string>[]) => McpServer | undefined,
): Entry {
  const found = texts.flatMap((one) => Object.values(one).flatMap((text) => [...text.matchAll(PLACEHOLDER)]));
  return {
    placeholders: new Set(found.map(([, name]) => name!)),
    fill(secrets) {
      const put = (text: string) => text.replace(PLACEHOLDER, (_, name: string) => secrets.get(name) ?? "");
      return make(
        texts.map((one) => Object.fromEntries(Object.entries(one).map(([key, text]) => [key, put(text)]))),
      );
    },
  };
}

function isHttp(url: string): boolean {
  return URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
}
