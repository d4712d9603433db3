import type { Model } from "@agent-gateway/contract";
import type { ConfigStore } from "../config/index.ts";
import { newestByFamily, withFamilyAliases } from "./aliases.ts";
import { type CatalogueDeps, type CatalogueRow, createCatalogue } from "./catalogue.ts";

export interface ModelDeps extends CatalogueDeps {
  config: Pick<ConfigStore, "current">;
}

/** Tokens, for a model that is not configured. */
const DEFAULT_CONTEXT_WINDOW = 200_000;
/** Plausible model ids. */
const PLAUSIBLE_ID = /^[A-Za-z0-9][A-Za-z0-9._:/@+[\]-]{0,199}$/;

/** The available models: the live catalogue if there is one, else `gateway.models`. */
export function createModels(deps: ModelDeps) {
  const { config } = deps;
  const catalogue = createCatalogue(deps);
  /** Rows of the latest reply, for callers that cannot wait. */
  let latest: readonly CatalogueRow[] = [];

  const configured = (): Model[] => withFamilyAliases(config.current.gateway.models);
  const merge = (rows: readonly CatalogueRow[]): Model[] => {
    const entries = new Map(config.current.gateway.models.map((model) => [model.id, model]));
    return withFamilyAliases(
      rows.map(({ id, name }) => {
        const entry = entries.get(id);
        return {
          id,
          name: name ?? entry?.name ?? id,
          alias: entry?.alias ?? id,
          contextWindow: entry?.contextWindow ?? DEFAULT_CONTEXT_WINDOW,
          multiplier: entry?.multiplier ?? 1,
        };
      }),
    );
  };

  /** The list as clients see it. Never rejects. */
  const list = async (): Promise<Model[]> => {
    const rows = await catalogue.rows();
    latest = rows ?? [];
    return rows ? merge(rows) : configured();
  };

  /**
   * Id of the model that an id or alias names, case-insensitively: among the listed, then among the configured that
   * the catalogue omits, then by bare family alias. Where there is no list at all, any plausible id names itself:
   * the runtime knows better.
   */
  const resolve = async (idOrAlias: string): Promise<string | undefined> => {
    const wanted = idOrAlias.trim();
    const models = await list();
    const own = config.current.gateway.models;
    if (models.length === 0 && own.length === 0) return PLAUSIBLE_ID.test(wanted) ? wanted : undefined;
    const lower = wanted.toLowerCase();
    const byId = [...models, ...own].find(({ id }) => id === wanted);
    const found =
      byId ??
      [...models, ...own].find(({ id }) => id.toLowerCase() === lower) ??
      models.find(({ alias }) => alias.toLowerCase() === lower) ??
      newestByFamily(models).get(lower) ??
      own.find(({ alias }) => alias.toLowerCase() === lower);
    return found?.id;
  };

  return {
    list,
    resolve,

    /** Tokens; undefined for a model that is neither configured nor in the latest catalogue. */
    contextWindow(id: string): number | undefined {
      const entry = config.current.gateway.models.find((model) => model.id === id);
      if (entry) return entry.contextWindow;
      return latest.some((row) => row.id === id) ? DEFAULT_CONTEXT_WINDOW : undefined;
    },
  };
}
export type Models = ReturnType<typeof createModels>;
