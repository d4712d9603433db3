/** Rules of `contract-store.md`: what holds whatever the driver is. */
export const store: Readonly<Record<string, string>> = {
  "STORE-UNITS-1":
    "a unit of changes takes effect as a whole or not at all, in the order in which units were asked for, and answers what each change did, whatever the driver",
  "STORE-AWAY-1":
    "while Postgres does not answer, what needs it is refused within 5 s with 503 `UNAVAILABLE` and `Retry-After`; the gateway reconnects by itself",
};
