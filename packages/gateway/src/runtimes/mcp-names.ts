const PREFIX = "mcp__";

/** Entries of `allowTools`, apart: tools of the agent program, and those of tool servers outside the gateway. */
export function splitAllowed(list: readonly string[]): { program: string[]; external: string[] } {
  return {
    program: list.filter((name) => !name.startsWith(PREFIX)),
    external: list.filter((name) => name.startsWith(PREFIX)),
  };
}

/** Whether `allowTools` lists this tool: by its name, or by its server (`mcp__server` for `mcp__server__tool`). */
export function listAllows(list: readonly string[], name: string): boolean {
  return list.some((entry) => entry === name || (entry.startsWith(PREFIX) && name.startsWith(`${entry}__`)));
}
