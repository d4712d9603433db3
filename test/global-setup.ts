import { build } from "../scripts/lib.mjs";

/** The black-box tests run what is shipped, so it is built first. */
export default async function setup(): Promise<void> {
  await build();
}
