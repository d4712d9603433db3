import { readdirSync } from "node:fs";

const areas = new URL("./requirements/", import.meta.url);

/**
 * Every rule of the specification's finished areas, by id: what the files in `requirements/` export. A test cites the
 * ids it proves in its title, as `[ID]`; `requirements.test.ts` fails when one is cited by none.
 */
export const requirements: Readonly<Record<string, string>> = Object.assign(
  {},
  ...(await Promise.all(
    readdirSync(areas)
      .sort()
      .map(async (name) => Object.values((await import(new URL(name, areas).href)) as object)),
  ).then((modules) => modules.flat())),
);
