import { build } from "../scripts/lib.mjs";
import { prepareCluster } from "./fixtures/postgres.ts";

/** The black-box tests run what is shipped, so it is built first. */
export default async function setup(): Promise<() => Promise<void>> {
  await build();
  return prepareCluster();
}
