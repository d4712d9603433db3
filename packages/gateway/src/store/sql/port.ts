import type { Param } from "../statement.ts";

/** What a driver gives the repositories, which are written once for all of them. `?` stands for each parameter. */
export interface Sql {
  /** Reads little, by index. Sees every committed change. */
  read<T>(text: string, params?: readonly Param[]): Promise<T[]>;
  /** Reads what may take longer than a millisecond or two. */
  slow<T>(text: string, params?: readonly Param[]): Promise<T[]>;
}
