/** Why a store with another schema than this gateway's cannot be copied. */
export const otherSchema = (what: string, version: number, known: number): string =>
  version < known
    ? `The ${what} has schema ${version}; start this version of the gateway with it once.`
    : `The ${what} has schema ${version}, which this version of the gateway does not know; use the one that wrote it.`;
