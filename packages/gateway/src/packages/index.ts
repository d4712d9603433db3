import { access } from "node:fs/promises";
import { once } from "../lib/once.ts";
import type { PackagesDeps, PackagesRoom } from "./room.ts";

/** The installed packages, loaded by the first request that asks for them. */
export function createPackages(deps: PackagesDeps) {
  const room = once(async () => (await import("./room.ts")).createRoom(deps));
  const use =
    <K extends "list" | "changelog" | "update">(name: K) =>
    async (...args: Parameters<PackagesRoom[K]>) => {
      const made = await room();
      return (made[name] as (...args: unknown[]) => ReturnType<PackagesRoom[K]>)(...args);
    };
  return {
    list: use("list"),
    changelog: use("changelog"),
    update: use("update"),
    /** Looks for an update that was cut off. Never rejects. */
    async recover(): Promise<void> {
      try {
        await access(deps.noteFile);
        await (await room()).recover();
      } catch {
        // None was.
      }
    },
  };
}

export type Packages = ReturnType<typeof createPackages>;
