import { core } from "./requirements/core.ts";
import { rooms } from "./requirements/rooms.ts";

/**
 * Every rule of the specification's finished areas, by id. A test cites the ids it proves in its title, as `[ID]`;
 * `requirements.test.ts` fails when one is cited by none.
 */
export const requirements: Readonly<Record<string, string>> = { ...core, ...rooms };
