/** Values of a metric's labels, in the order of its names. */
export type Labels = readonly string[];

interface Sample {
  labels: Readonly<Record<string, string>>;
  value: number;
  /** Where it is not the family's. */
  metricName?: string;
}
type Type = "counter" | "gauge" | "histogram";

/**
 * One metric: numbers that cost next to nothing to keep. `prom-client`, which is loaded by the first scrape, asks for
 * them by `get` as for those of its own metrics, and writes the text.
 */
export interface Family {
  readonly name: string;
  get(): Promise<{ name: string; help: string; type: Type; values: Sample[] }>;
}

const labelled = (names: Labels, labels: Labels) =>
  Object.fromEntries(names.map((name, index) => [name, labels[index] ?? ""]));

const family = (name: string, help: string, type: Type, values: () => Sample[]): Family => ({
  name,
  get: async () => ({ name, help, type, values: values() }),
});

export interface Counter extends Family {
  add(by: number, ...labels: string[]): void;
  value(...labels: string[]): number;
}

/** A counter, with one number per combination of labels. */
export function createCounter(name: string, help: string, labelNames: Labels = []): Counter {
  const values = new Map<string, { labels: Labels; value: number }>();
  return {
    add(by, ...labels) {
      const key = labels.join("\0");
      const held = values.get(key);
      if (held) held.value += by;
      else values.set(key, { labels, value: by });
    },
    value: (...labels) => values.get(labels.join("\0"))?.value ?? 0,
    ...family(name, help, "counter", () =>
      [...values.values()].map(({ labels, value }) => ({ labels: labelled(labelNames, labels), value })),
    ),
  };
}

/** A value that is read on demand; `counter` if it only grows. */
export function createGauge(
  name: string,
  help: string,
  labelNames: Labels,
  read: () => Iterable<readonly [labels: Labels, value: number]>,
  type: "gauge" | "counter" = "gauge",
): Family {
  return family(name, help, type, () =>
    [...read()].map(([labels, value]) => ({ labels: labelled(labelNames, labels), value })),
  );
}

export interface Histogram extends Family {
  observe(value: number, ...labels: string[]): void;
}

/** Counts of values at or below each bound. */
export function createHistogram(
  name: string,
  help: string,
  labelNames: Labels,
  bounds: readonly number[],
): Histogram {
  const series = new Map<string, { labels: Labels; counts: number[]; sum: number }>();
  return {
    observe(value, ...labels) {
      const key = labels.join("\0");
      let held = series.get(key);
      if (!held) {
        held = { labels, counts: new Array<number>(bounds.length + 1).fill(0), sum: 0 };
        series.set(key, held);
      }
      const bucket = bounds.findIndex((bound) => value <= bound);
      held.counts[bucket < 0 ? bounds.length : bucket]! += 1;
      held.sum += value;
    },
    ...family(name, help, "histogram", () =>
      [...series.values()].flatMap(({ labels, counts, sum }) => {
        const own = labelled(labelNames, labels);
        let below = 0;
        const buckets = counts.map((count, index) => {
          below += count;
          const le = bounds[index] === undefined ? "+Inf" : String(bounds[index]);
          return { metricName: `${name}_bucket`, labels: { ...own, le }, value: below };
        });
        return [
          ...buckets,
          { metricName: `${name}_sum`, labels: own, value: sum },
          { metricName: `${name}_count`, labels: own, value: below },
        ];
      }),
    ),
  };
}
