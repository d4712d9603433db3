import type { Clock } from "../../lib/clock.ts";
import type { Loss, StoreVersions } from "../versions.ts";
import { isBeating } from "./beating.ts";
import { downgrade, lossesOf } from "./downgrade.ts";
import { type Hold, holdSchema } from "./hold.ts";
import type { Link } from "./link.ts";
import { MIGRATIONS } from "./migrations.ts";
import { type PostgresPlace, schemaName } from "./place.ts";
import { commandError, reach } from "./reach.ts";
import { locked, schemaOf, setMeta } from "./schema.ts";
import { checkServer } from "./server.ts";

/** From here on, gateways that use a schema show there. */
const WITH_NODES = 2;

/**
 * The state of a schema of Postgres; of version 0 if there is none.
 * @param stopped whether no gateway may use it: then others are kept away until it is closed
 * @throws Error with a sentence
 */
export async function openPostgresVersions(
  place: PostgresPlace,
  clock: Clock,
  stopped: boolean,
): Promise<StoreVersions> {
  const { schema } = place;
  const hold: Hold | undefined = stopped ? await holdSchema(place, clock) : undefined;
  let link: Link | undefined;
  const close = () => {
    link?.close();
    hold?.release();
  };
  try {
    link = await reach(place, clock);
    const open = link;
    const inLock = (work: Parameters<typeof locked>[3]) =>
      locked(open, schema, clock, work).catch((error) => {
        throw commandError(place, error);
      });
    const { version, oldest } = await schemaOf(open, schema);
    if (stopped && version >= WITH_NODES && (await isBeating(open, schema, clock))) {
      throw new Error(`A gateway is running on ${schemaName(place)}; stop it first.`);
    }
    const extension = version > 0 && stopped ? await checkServer(open, () => {}) : schema;
    return {
      version,
      oldest,
      known: version <= MIGRATIONS.length,
      async lossesAt(to) {
        let losses: Loss[] = [];
        await inLock(async (run) => {
          losses = await lossesOf(run, schema, extension, to);
        });
        return losses;
      },
      downgrade: (to) => inLock((run) => downgrade(run, schema, extension, to)),
      contract: (gateway) =>
        inLock(async (run) => {
          await run(setMeta("oldest", String(version)), setMeta("oldest_gateway", gateway));
        }),
      close,
    };
  } catch (error) {
    close();
    throw commandError(place, error);
  }
}
