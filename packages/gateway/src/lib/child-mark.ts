/** One child's place among those of this process. */
export interface ChildMark {
  readonly env: Readonly<Record<string, string>>;
  /** What the mark says after the home's name. */
  readonly value: string;
}

export interface Reaper {
  /**
   * Goes into one child's environment, is inherited by its descendants, and identifies them: to `sweep`, and to the
   * next start.
   */
  mark(): ChildMark;
  /** Kills the descendants of a child that carry its mark, also those that left its group. */
  sweep(mark: ChildMark): Promise<void>;
  /** Kills whatever carries a mark of this process. For the shutdown. */
  sweepAll(): Promise<void>;
  /** Remembers a group leader on disk, and kills its group when this process exits in any way it can notice. */
  track(pid: number): Promise<void>;
  untrack(pid: number): Promise<void>;
  /** Kills what earlier gateways of this home left running. Resolves to the number of processes killed. */
  reapLeftovers(): Promise<number>;
}
