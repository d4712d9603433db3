import { signal } from "@preact/signals";
import { client } from "../api/client.ts";
import type { Command, Model } from "../api/types.ts";

export const commands = signal<readonly Command[]>([]);
export const models = signal<readonly Model[]>([]);

/** Loads the choices of the composer and the model picker. */
export async function loadCatalogue(): Promise<void> {
  const [{ commands: known }, { models: offered }] = await Promise.all([
    client.call("commands"),
    client.call("listModels"),
  ]);
  commands.value = known;
  models.value = offered;
}
