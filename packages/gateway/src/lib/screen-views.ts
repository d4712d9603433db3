/** Someone who watches a screen. */
export interface ScreenViewer {
  /**
   * Takes the whole screen first, then what is written to it. Returns false when too much waits to be read: then
   * nothing comes until {@link ScreenView.resume}.
   */
  show(bytes: Uint8Array): boolean;
  /** Nothing more comes: the program has ended. */
  ended(): void;
}

/** A viewer's hold on what it watches. */
export interface ScreenView {
  /** Goes on with the screen as it is now; what was written meanwhile is in it. */
  resume(): void;
  leave(): void;
}

export interface ScreenViews {
  /** Shows the screen at once, and what follows. A viewer that comes too late is told that it has ended. */
  add(viewer: ScreenViewer): ScreenView;
  /** Passes on what was written; `screen` must have it already. */
  write(bytes: Uint8Array): void;
  end(): void;
}

/**
 * Shows one screen to any number of viewers, and keeps nothing for any of them: one that falls behind misses what is
 * written, and is shown the screen as it has become. @param screen the bytes that draw it
 */
export function createScreenViews(screen: () => Uint8Array): ScreenViews {
  /** Whether each takes more. */
  const viewers = new Map<ScreenViewer, boolean>();
  let over = false;
  const show = (viewer: ScreenViewer, bytes: Uint8Array) => {
    const more = viewer.show(bytes);
    // It may have left meanwhile.
    if (viewers.has(viewer)) viewers.set(viewer, more);
  };
  return {
    add(viewer) {
      viewers.set(viewer, true);
      show(viewer, screen());
      if (over && viewers.delete(viewer)) viewer.ended();
      return {
        resume: () => viewers.get(viewer) === false && show(viewer, screen()),
        leave: () => void viewers.delete(viewer),
      };
    },
    write(bytes) {
      for (const [viewer, ready] of [...viewers]) if (ready) show(viewer, bytes);
    },
    end() {
      over = true;
      for (const viewer of [...viewers.keys()]) if (viewers.delete(viewer)) viewer.ended();
    },
  };
}
