/** Values of a metric's labels, in the order of its names. */
export type Labels = readonly string[];

/** One metric, rendered as Prometheus text (exposition format 0.0.4). */
export interface Family {
  render(): string;
}

const escapeLabel = (value: string) =>
  value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");

function sample(name: string, labelNames: Labels, labels: Labels, value: number): string {
  const pairs = labelNames.map((label, index) => `${label}="${escapeLabel(labels[index] ?? "")}"`);
  return `${name}${pairs.length > 0 ? `{${pairs.join(",")}}` : ""} ${value}\n`;
}

const head = (name: string, help: string, type: string) => `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;

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
    render: () =>
      head(name, help, "counter") +
      [...values.values()].map(({ labels, value }) => sample(name, labelNames, labels, value)).join(""),
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
  return {
    render: () =>
      head(name, help, type) +
      [...read()].map(([labels, value]) => sample(name, labelNames, labels, value)).join(""),
  };
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
    render() {
      let text = head(name, help, "histogram");
      for (const { labels, counts, sum } of series.values()) {
        let below = 0;
        counts.forEach((count, index) => {
          below += count;
          const bound = bounds[index] === undefined ? "+Inf" : String(bounds[index]);
          text += sample(`${name}_bucket`, [...labelNames, "le"], [...labels, bound], below);
        });
        text += sample(`${name}_sum`, labelNames, labels, sum);
        text += sample(`${name}_count`, labelNames, labels, below);
      }
      return text;
    },
  };
}
