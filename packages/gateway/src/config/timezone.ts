/** True if this runtime knows the time zone. */
export function isTimezone(name: unknown): name is string {
  if (typeof name !== "string" || name === "") return false;
  // The common case avoids loading the time zone data, which takes 12 ms.
  if (name === "UTC") return true;
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/** The first valid name, else `UTC`. */
export function firstTimezone(...names: readonly (string | undefined)[]): string {
  return names.find(isTimezone) ?? "UTC";
}

/** The parts of the `gateway` section that contain time zones. */
interface Zones {
  timezone?: string | undefined;
  history: { cleanupTimezone?: string | undefined };
  spend: { timezone?: string | undefined };
  appBackup: { cleanupTimezone?: string | undefined };
  skillLearning: { pruneTimezone?: string | undefined };
  dreaming: { dreamTimezone?: string | undefined };
  knowledge: { reflection: { timezone?: string | undefined } };
}

/** Every feature with its own time zone, by its key below `gateway`. */
export function ownTimezones(gateway: Zones): Record<string, string | undefined> {
  return {
    "history.cleanupTimezone": gateway.history.cleanupTimezone,
    "spend.timezone": gateway.spend.timezone,
    "appBackup.cleanupTimezone": gateway.appBackup.cleanupTimezone,
    "skillLearning.pruneTimezone": gateway.skillLearning.pruneTimezone,
    "dreaming.dreamTimezone": gateway.dreaming.dreamTimezone,
    "knowledge.reflection.timezone": gateway.knowledge.reflection.timezone,
  };
}

/** The section with every time zone resolved: the feature's own if valid, else `gateway.timezone`, else `UTC`. */
export function withTimezones<G extends Zones>(gateway: G) {
  const timezone = firstTimezone(gateway.timezone);
  const decide = (own: string | undefined) => firstTimezone(own, timezone);
  return {
    ...gateway,
    timezone,
    history: { ...gateway.history, cleanupTimezone: decide(gateway.history.cleanupTimezone) },
    spend: { ...gateway.spend, timezone: decide(gateway.spend.timezone) },
    appBackup: { ...gateway.appBackup, cleanupTimezone: decide(gateway.appBackup.cleanupTimezone) },
    skillLearning: { ...gateway.skillLearning, pruneTimezone: decide(gateway.skillLearning.pruneTimezone) },
    dreaming: { ...gateway.dreaming, dreamTimezone: decide(gateway.dreaming.dreamTimezone) },
    knowledge: {
      ...gateway.knowledge,
      reflection: {
        ...gateway.knowledge.reflection,
        timezone: decide(gateway.knowledge.reflection.timezone),
      },
    },
  };
}
