/** What a downgrade takes away: a table, or a column of one. */
export interface Loss {
  table: string;
  /** Undefined for the whole table. */
  column?: string;
  /** Rows that hold something there. */
  rows: number;
}

/** The schema of a store, as the commands about it see it. */
export interface StoreVersions {
  readonly version: number;
  /** The oldest schema whose gateways may use it. */
  readonly oldest: number;
  /** Whether this gateway knows everything in it. */
  readonly known: boolean;
  lossesAt(version: number): Promise<Loss[]>;
  /** Takes it back, with what {@link lossesAt} names discarded. */
  downgrade(version: number): Promise<void>;
  /** From now on only gateways that know its schema may use it. */
  contract(gateway: string): Promise<void>;
  close(): void;
}
