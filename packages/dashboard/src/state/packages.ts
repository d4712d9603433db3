import { signal } from "@preact/signals";
import { client, outputOf, sentence } from "../api/client.ts";
import type { PackageRecord, Release } from "../api/types.ts";
import { wait } from "./wait.ts";

/** A package as it was found, and what is being done with it. */
export interface Package extends PackageRecord {
  /** What its newest version brings; undefined until it has come. */
  releases?: readonly Release[] | undefined;
  /** Why that did not come. */
  unknown?: string | undefined;
  step?: "updating" | "restarting" | "stopped" | undefined;
  /** Why the last update failed, and what the programs said. */
  failure?: { text: string; output: string } | undefined;
}

/** Undefined until the registry was asked. */
export const packages = signal<readonly Package[] | undefined>(undefined);
export const asking = signal(false);
export const askFailure = signal("");

const LOOK_MS = 500;

const change = (name: Package["package"], part: Partial<Package>) => {
  packages.value = packages.value?.map((one) => (one.package === name ? { ...one, ...part } : one));
};

async function loadReleases(name: Package["package"]): Promise<void> {
  try {
    const { entries } = await client.call("packageChangelog", { params: { name } });
    change(name, { releases: entries });
  } catch (error) {
    change(name, { unknown: sentence(error) });
  }
}

/** Asks the registry for new versions, and then for what they bring. */
export async function lookForUpdates(): Promise<void> {
  asking.value = true;
  askFailure.value = "";
  try {
    packages.value = (await client.call("listPackages", { query: { refresh: "true" } })).packages;
    for (const { package: name, hasUpdate } of packages.value) if (hasUpdate) void loadReleases(name);
  } catch (error) {
    askFailure.value = sentence(error);
  } finally {
    asking.value = false;
  }
}

const startedAt = () =>
  client.call("status", {}).then(
    (now) => now.startedAt,
    () => undefined,
  );

/** Waits until another start of the gateway answers, and loads the page that it brings. */
async function awaitRestart(before: number | undefined): Promise<void> {
  for (;;) {
    await wait(LOOK_MS);
    const now = await startedAt();
    if (now !== undefined && now !== before) return location.reload();
  }
}

/** Updates a package; after an update of the gateway, waits until it has started again. */
export async function update(name: Package["package"]): Promise<void> {
  change(name, { step: "updating", failure: undefined });
  const before = await startedAt();
  try {
    const { updated, warning } = await client.call("updatePackage", { params: { name } });
    if (name !== "gateway" || !updated) {
      packages.value = undefined;
      return lookForUpdates();
    }
    change(name, { step: warning === "service will restart" ? "restarting" : "stopped" });
    await awaitRestart(before);
  } catch (error) {
    change(name, { step: undefined, failure: { text: sentence(error), output: outputOf(error) } });
  }
}
